// Frames as the program sends them: read from their bytes, and drawn with WebGL 2. What the bytes mean stands in
// docs/tab_protocol.md.

const PARTS = 256, TEXELS = 16;
const MOST = { pieces: 1 << 16, vertices: 1 << 22, indices: 1 << 23, bytes: 1 << 26 };  // more is damage

export class Bytes {
  constructor(bytes) { this.bytes = bytes; this.at = 0; }
  number(most = Number.MAX_SAFE_INTEGER) {
    let value = 0, scale = 1, byte = 128;
    while (byte >= 128) {
      if (this.at >= this.bytes.length || scale > 2 ** 49) throw new Error('a message ends too early');
      byte = this.bytes[this.at++];
      value += (byte & 127) * scale;
      scale *= 128;
    }
    if (value > most) throw new Error(`a number is too large: ${value}`);
    return value;
  }
  signed() {
    const value = this.number();
    return value % 2 ? -(value + 1) / 2 : value / 2;
  }
  box() { return [this.signed(), this.signed(), this.signed(), this.signed()]; }
  block(most = MOST.bytes) {
    const size = this.number(most);
    if (size > this.bytes.length - this.at) throw new Error('a message is shorter than it says');
    return this.bytes.subarray(this.at, this.at += size);
  }
  words() { return new TextDecoder().decode(this.block()); }
  rest() { return this.bytes.subarray(this.at); }
}

export class Message {
  constructor(kind) { this.bytes = [kind]; }
  number(value) {
    let left = Math.max(0, Math.round(value));
    for (; left >= 128; left = Math.floor(left / 128)) this.bytes.push(left % 128 + 128);
    this.bytes.push(left);
    return this;
  }
  signed(value) {
    const whole = Math.round(value);
    return this.number(whole < 0 ? -2 * whole - 1 : 2 * whole);
  }
  words(text) {
    const bytes = new TextEncoder().encode(text);
    this.number(bytes.length);
    for (const byte of bytes) this.bytes.push(byte);
    return this;
  }
  done() { return new Uint8Array(this.bytes); }
}

// Numbers that stand for values: each value is in the tables where its number is met first.
class Table {
  constructor(tables, read) { this.tables = tables; this.read = read; this.values = []; }
  value(number) {
    if (number > this.values.length) throw new Error('a value was never named');
    if (number === this.values.length) this.values.push(this.read(this.tables));
    return this.values[number];
  }
}

function readPiece(head, streams, atlas, last) {
  const piece = { scissor: head.box(), texture: head.number() };
  const count = head.number(MOST.vertices), size = head.number(MOST.indices);
  const buffer = new ArrayBuffer(count * 20);
  const places = new Float32Array(buffer), colours = new Uint32Array(buffer);
  for (let i = 0; i < 5 * count; i += 5) {
    places[i] = (last.x += streams.x.signed()) / PARTS;
    places[i + 1] = (last.y += streams.y.signed()) / PARTS;
    const uv = last.uvs.value(streams.uv.number());
    places[i + 2] = uv[0] / (TEXELS * atlas[0]);
    places[i + 3] = uv[1] / (TEXELS * atlas[1]);
    colours[i + 4] = last.colours.value(streams.colours.number());
  }
  piece.vertices = new Uint8Array(buffer);
  piece.indices = new Uint32Array(size);
  for (let i = 0, index = 0; i < size; ++i) {
    index += streams.indices.signed();
    if (index < 0 || index >= count) throw new Error('an index has no vertex');
    piece.indices[i] = index;
  }
  return piece;
}

// A frame from its bytes and the frame before; throws where they do not fit together. Null: it belongs to one that was
// given up.
export function readFrame(bytes, before) {
  const all = new Bytes(bytes), streams = {};
  for (const name of ['head', 'tables', 'colours', 'x', 'y', 'uv', 'indices'])
    streams[name] = new Bytes(all.block());
  const head = streams.head;
  const frame = { number: head.number(), pieces: [] };
  const base = head.number();
  if (base !== 0 && !before) return null;
  if (base !== 0 && before.number !== base) throw new Error('a frame belongs to one that is not here');
  frame.width = head.number(1 << 15);
  frame.height = head.number(1 << 15);
  const atlas = [head.number(1 << 15), head.number(1 << 15)];
  frame.cursor = head.number() - 1;
  frame.ground = head.number();
  const count = head.number(MOST.pieces);
  const pair = (tables) => { const v = tables.number(); return [Math.floor(v / 2 ** 32), v % 2 ** 32]; };
  const colours = new Table(streams.tables, (tables) => tables.number());
  const last = { x: 0, y: 0, uvs: new Table(streams.tables, pair), colours };
  while (frame.pieces.length < count) {
    const kept = head.number(count - frame.pieces.length);
    if (kept === 0) {
      frame.pieces.push(readPiece(head, streams, atlas, last));
      continue;
    }
    const first = head.number();
    if (base === 0 || first + kept > before.pieces.length) throw new Error('a piece is kept that is not here');
    for (let i = 0; i < kept; ++i) frame.pieces.push(before.pieces[first + i]);
  }
  return frame;
}

export async function inflated(bytes) {
  const unpacking = new DecompressionStream('deflate-raw');
  const reader = new Blob([bytes]).stream().pipeThrough(unpacking).getReader();
  const parts = [];
  let size = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    parts.push(part.value);
    if ((size += part.value.length) > MOST.bytes) throw new Error('a message is too large');
  }
  const out = new Uint8Array(size);
  let at = 0;
  for (const part of parts) { out.set(part, at); at += part.length; }
  return out;
}

const VERTEX = `#version 300 es
uniform vec4 place;
layout(location = 0) in vec2 position; layout(location = 1) in vec2 uv; layout(location = 2) in vec4 colour;
out vec2 at; out vec4 tint;
void main() { at = uv; tint = colour; gl_Position = vec4(position * place.xy + place.zw, 0.0, 1.0); }`;
const FRAGMENT = `#version 300 es
precision highp float;
uniform sampler2D picture; uniform bool letters;
in vec2 at; in vec4 tint; out vec4 seen;
void main() { vec4 texel = texture(picture, at); seen = tint * (letters ? vec4(1.0, 1.0, 1.0, texel.r) : texel); }`;

// Draws as the window does: the same triangles, blended and cut the same way.
export class Painter {
  constructor(canvas) {
    this.canvas = canvas;
    this.textures = new Map();
    const gl = this.gl = canvas.getContext('webgl2', { alpha: false, antialias: false, depth: false });
    if (!gl) throw new Error('this browser has no WebGL 2');
    const program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost())
      throw new Error(gl.getProgramInfoLog(program));
    gl.useProgram(program);
    this.place = gl.getUniformLocation(program, 'place');
    this.letters = gl.getUniformLocation(program, 'letters');
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    const parts = [[2, gl.FLOAT, 0], [2, gl.FLOAT, 8], [4, gl.UNSIGNED_BYTE, 16]];
    for (const [i, [size, type, start]] of parts.entries()) {
      gl.enableVertexAttribArray(i);
      gl.vertexAttribPointer(i, size, type, i === 2, 20, start);
    }
    gl.enable(gl.BLEND);
    gl.enable(gl.SCISSOR_TEST);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
  }
  texture(number, width, height, letters, pixels) {
    if (pixels.length !== width * height * (letters ? 1 : 4)) throw new Error('a picture has the wrong size');
    const gl = this.gl, texture = gl.createTexture();
    this.forget(number);
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, letters ? gl.LINEAR : gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
    const [inside, format] = letters ? [gl.R8, gl.RED] : [gl.RGBA8, gl.RGBA];
    gl.texImage2D(gl.TEXTURE_2D, 0, inside, width, height, 0, format, gl.UNSIGNED_BYTE, pixels);
    this.textures.set(number, { texture, letters });
  }
  forget(number) {
    if (this.textures.has(number)) this.gl.deleteTexture(this.textures.get(number).texture);
    this.textures.delete(number);
  }
  upload(frame) {
    let vertices = 0, indices = 0;
    for (const piece of frame.pieces) { vertices += piece.vertices.length; indices += piece.indices.length; }
    const points = new Uint8Array(vertices), order = new Uint32Array(indices);
    vertices = indices = 0;
    for (const piece of frame.pieces) {
      points.set(piece.vertices, vertices);
      const first = vertices / 20;
      for (let i = 0; i < piece.indices.length; ++i) order[indices + i] = piece.indices[i] + first;
      vertices += piece.vertices.length;
      indices += piece.indices.length;
    }
    this.gl.bufferData(this.gl.ARRAY_BUFFER, points, this.gl.STREAM_DRAW);
    this.gl.bufferData(this.gl.ELEMENT_ARRAY_BUFFER, order, this.gl.STREAM_DRAW);
  }
  // `fit`: where the frame lies on the canvas, and how large; another tab may have given it its size.
  draw(frame, fit) {
    const gl = this.gl, { width, height } = this.canvas;
    gl.viewport(0, 0, width, height);
    gl.disable(gl.SCISSOR_TEST);
    gl.clearColor(...[0, 8, 16].map((shift) => (frame.ground >>> shift & 255) / 255), 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.enable(gl.SCISSOR_TEST);
    const across = 2 * fit.scale / width, down = -2 * fit.scale / height;
    gl.uniform4f(this.place, across, down, 2 * fit.x / width - 1, 1 - 2 * fit.y / height);
    this.upload(frame);
    let first = 0;
    for (const { scissor, texture, indices } of frame.pieces) {
      const source = this.textures.get(texture);
      if (source) {
        const [x, y, w, h] = scissor.map((part) => part * fit.scale);
        const left = Math.floor(x + fit.x), below = Math.floor(height - y - h - fit.y);
        gl.scissor(left, below, Math.ceil(x + w + fit.x) - left, Math.ceil(height - y - fit.y) - below);
        gl.bindTexture(gl.TEXTURE_2D, source.texture);
        gl.uniform1i(this.letters, source.letters);
        gl.drawElements(gl.TRIANGLES, indices.length, gl.UNSIGNED_INT, 4 * first);
      }
      first += indices.length;
    }
  }
}
