"""The model, loss and scores of the course in plain PyTorch, written from their definitions: what Isobar must agree with."""
import math

import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, embed, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.proj = (nn.Linear(embed, embed) for _ in range(4))

    def forward(self, x):
        def split(t):
            return t.unflatten(-1, (self.heads, -1)).transpose(1, 2)

        mixed = F.scaled_dot_product_attention(split(self.q(x)), split(self.k(x)), split(self.v(x)))
        return self.proj(mixed.transpose(1, 2).flatten(2))


class Mlp(nn.Module):
    def __init__(self, embed):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(embed, 4 * embed), nn.Linear(4 * embed, embed)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(x)))


class Block(nn.Module):
    def __init__(self, embed, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(embed, eps=1e-6), nn.LayerNorm(embed, eps=1e-6)
        self.attn, self.mlp = Attention(embed, heads), Mlp(embed)

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class PatchEmbed(nn.Module):
    def __init__(self, channels, patch, embed):
        super().__init__()
        self.proj = nn.Conv2d(channels, embed, kernel_size=patch, stride=patch)

    def forward(self, image):
        return self.proj(image).flatten(2).transpose(1, 2)


def unpatch(tokens, grid, patch, channels):
    """[B, N, P P C] -> [B, C, H, W]"""
    out = tokens.view(-1, *grid, patch, patch, channels).permute(0, 5, 1, 3, 2, 4)
    return out.reshape(-1, channels, grid[0] * patch, grid[1] * patch)


class Vit(nn.Module):
    """height, width, channels, patch, embed, depth, heads as in Isobar's configuration."""

    def __init__(self, height, width, channels, patch, embed, depth, heads):
        super().__init__()
        self.grid, self.patch, self.channels = (height // patch, width // patch), patch, channels
        self.pos_embed = nn.Parameter(torch.zeros(1, self.grid[0] * self.grid[1], embed))
        self.patch_embed = PatchEmbed(channels, patch, embed)
        self.blocks = nn.ModuleList(Block(embed, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(embed, eps=1e-6)
        self.head = nn.Linear(embed, channels * patch * patch, bias=False)

    def forward(self, image):
        x = self.patch_embed(image) + self.pos_embed
        for block in self.blocks:
            x = block(x)
        return unpatch(self.head(self.norm(x)), self.grid, self.patch, self.channels)


def relative_l2(prediction, target):
    return ((prediction - target).flatten(1).norm(dim=1) / target.flatten(1).norm(dim=1)).mean()


def latitude_weights(height):
    latitude = 90 - 180 * torch.arange(height, dtype=torch.float64) / (height - 1)
    cosine = torch.cos(latitude * math.pi / 180)
    return (height * cosine / cosine.sum()).view(-1, 1)


def weighted_rmse(prediction, target):
    weights = latitude_weights(prediction.shape[2]).to(prediction)
    return (weights * (prediction - target) ** 2).mean(dim=(2, 3)).sqrt()


def weighted_acc(prediction, target):
    weights = latitude_weights(prediction.shape[2]).to(prediction)

    def total(t):
        return (weights * t).sum(dim=(2, 3))

    return total(prediction * target) / (total(prediction**2) * total(target**2)).sqrt()
