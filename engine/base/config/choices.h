#pragma once
// The keys of a configuration that take one of a few names: for each an enum, and the names of its values as
// they are written. lessons/base.toml defines their meaning.
#include <array>

#include "core/choice.h"

namespace isobar {

enum class DataSource : unsigned char { files, memory, synthetic };
inline constexpr std::array kDataSources = {"files", "memory", "synthetic"};
constexpr Choices choices_of(DataSource) { return kDataSources; }

enum class ShardForm : unsigned char { strided, contiguous };
inline constexpr std::array kShardForms = {"strided", "contiguous"};
constexpr Choices choices_of(ShardForm) { return kShardForms; }

enum class LoaderKind : unsigned char { in_line, workers, gpu };
inline constexpr std::array kLoaderKinds = {"inline", "workers", "gpu"};
constexpr Choices choices_of(LoaderKind) { return kLoaderKinds; }

enum class NormalisedOn : unsigned char { device, host };
inline constexpr std::array kNormalisedOnNames = {"device", "host"};
constexpr Choices choices_of(NormalisedOn) { return kNormalisedOnNames; }

enum class UploadType : unsigned char { f32, f16, i16 };
inline constexpr std::array kUploadTypes = {"f32", "f16", "i16"};
constexpr Choices choices_of(UploadType) { return kUploadTypes; }

enum class AttentionKind : unsigned char { automatic, math, efficient, flash, cudnn };
inline constexpr std::array kAttentionKinds = {"auto", "math", "efficient", "flash", "cudnn"};
constexpr Choices choices_of(AttentionKind) { return kAttentionKinds; }

enum class NormKind : unsigned char { layer, batch };
inline constexpr std::array kNormKinds = {"layer", "batch"};
constexpr Choices choices_of(NormKind) { return kNormKinds; }

/// Which activations of a block backward computes again.
enum class CheckpointKind : unsigned char { none, cheap, selective, block };
inline constexpr std::array kCheckpointKinds = {"none", "cheap", "selective", "block"};
constexpr Choices choices_of(CheckpointKind) { return kCheckpointKinds; }

enum class OptimizerKind : unsigned char { adam, muon };
inline constexpr std::array kOptimizerKinds = {"adam", "muon"};
constexpr Choices choices_of(OptimizerKind) { return kOptimizerKinds; }

enum class AdamKernel : unsigned char { own, libtorch };
inline constexpr std::array kAdamKernels = {"own", "libtorch"};
constexpr Choices choices_of(AdamKernel) { return kAdamKernels; }

enum class ScheduleKind : unsigned char { cosine, constant };
inline constexpr std::array kScheduleKinds = {"cosine", "constant"};
constexpr Choices choices_of(ScheduleKind) { return kScheduleKinds; }

enum class LrRule : unsigned char { none, linear, sqrt };
inline constexpr std::array kLrRules = {"none", "linear", "sqrt"};
constexpr Choices choices_of(LrRule) { return kLrRules; }

enum class AmpMode : unsigned char { automatic, mixed, none, tf32, fp16, bf16 };
inline constexpr std::array kAmpModes = {"auto", "mixed", "none", "tf32", "fp16", "bf16"};
constexpr Choices choices_of(AmpMode) { return kAmpModes; }

enum class GraphScope : unsigned char { step, model };
inline constexpr std::array kGraphScopes = {"step", "model"};
constexpr Choices choices_of(GraphScope) { return kGraphScopes; }

enum class BackendKind : unsigned char { automatic, nccl, gloo, ring };
inline constexpr std::array kBackendKinds = {"auto", "nccl", "gloo", "ring"};
constexpr Choices choices_of(BackendKind) { return kBackendKinds; }

enum class SyncKind : unsigned char { buckets, at_end, per_parameter, reducer, none };
inline constexpr std::array kSyncKinds = {"buckets", "at_end", "per_parameter", "reducer", "none"};
constexpr Choices choices_of(SyncKind) { return kSyncKinds; }

enum class BucketOrder : unsigned char { ready, reverse, forward };
inline constexpr std::array kBucketOrders = {"ready", "reverse", "forward"};
constexpr Choices choices_of(BucketOrder) { return kBucketOrders; }

/// What a bucket sends in place of its gradients.
enum class CompressKind : unsigned char { none, fp16, bf16, powersgd, acpsgd };
inline constexpr std::array kCompressKinds = {"none", "fp16", "bf16", "powersgd", "acpsgd"};
constexpr Choices choices_of(CompressKind) { return kCompressKinds; }
constexpr bool is_16_bit(CompressKind kind) {
  return kind == CompressKind::fp16 || kind == CompressKind::bf16;
}
constexpr bool is_low_rank(CompressKind kind) {
  return kind == CompressKind::powersgd || kind == CompressKind::acpsgd;
}

/// What data-parallel ranks average.
enum class Averaged : unsigned char { gradients, weights };
inline constexpr std::array kAveraged = {"gradients", "weights"};
constexpr Choices choices_of(Averaged) { return kAveraged; }

enum class AllReduceKind : unsigned char { ring, tree, naive };
inline constexpr std::array kAllReduceKinds = {"ring", "tree", "naive"};
constexpr Choices choices_of(AllReduceKind) { return kAllReduceKinds; }

enum class GradBits : unsigned char { bits_16, bits_32 };
inline constexpr std::array kGradBitNames = {"16", "32"};
constexpr Choices choices_of(GradBits) { return kGradBitNames; }

/// What lies in host memory between uses.
enum class OffloadKind : unsigned char { none, optimizer, weights };
inline constexpr std::array kOffloadKinds = {"none", "optimizer", "weights"};
constexpr Choices choices_of(OffloadKind) { return kOffloadKinds; }

/// In which order the ranks of a pipeline work (pipeline/schedule.h).
enum class PipelineForm : unsigned char { gpipe, one_f_one_b, interleaved, zb_h1, zb_v, file };
inline constexpr std::array kPipelineForms = {"gpipe", "1f1b", "interleaved", "zb_h1", "zb_v", "file"};
constexpr Choices choices_of(PipelineForm) { return kPipelineForms; }
/// Whether its backward passes are in two parts, for inputs and for weights; that of a file is not known
/// here.
constexpr bool splits_backward(PipelineForm form) {
  return form == PipelineForm::zb_h1 || form == PipelineForm::zb_v;
}

/// How the ranks that share the tokens of a model (mesh.cp) get what attention needs of the others.
enum class ContextForm : unsigned char { gather, gather_again, ring, a2a };
inline constexpr std::array kContextForms = {"gather", "gather_again", "ring", "a2a"};
constexpr Choices choices_of(ContextForm) { return kContextForms; }

enum class Determinism : unsigned char { automatic, yes, no };
inline constexpr std::array kDeterminismNames = {"auto", "yes", "no"};
constexpr Choices choices_of(Determinism) { return kDeterminismNames; }

enum class MeasureKind : unsigned char { none, full, io, synthetic };
inline constexpr std::array kMeasureKinds = {"none", "full", "io", "synthetic"};
constexpr Choices choices_of(MeasureKind) { return kMeasureKinds; }

constexpr bool is_16_bit(AmpMode mode) { return mode == AmpMode::fp16 || mode == AmpMode::bf16; }

/// What products are in, for a person to read: "fp32" where it is none.
constexpr const char* precision_text(AmpMode mode) { return mode == AmpMode::none ? "fp32" : name_of(mode); }

}  // namespace isobar
