// @ts-check
// Answers a prompt by the demo's models: Llama's forward pass in plain JavaScript, without a cache, so that no Python is needed.
import { encode, end, shape, decode as wordOf } from './words.mjs';

/** @typedef {(name: string) => Float32Array} Weights */

/** @param {Uint16Array} bits of bfloat16 */
const decode = (bits) => {
  const words = new Uint32Array(bits.length);
  for (let at = 0; at < bits.length; at += 1) words[at] = Number(bits[at]) << 16;
  return new Float32Array(words.buffer);
};

/** @param {Float32Array} matrix @param {Float32Array} vector */
const times = (matrix, vector) => {
  const columns = vector.length;
  const product = new Float32Array(matrix.length / columns);
  for (let row = 0, at = 0; row < product.length; row += 1) {
    let sum = 0;
    for (let column = 0; column < columns; column += 1, at += 1)
      sum += Number(matrix[at]) * Number(vector[column]);
    product[row] = sum;
  }
  return product;
};

/** @param {Float32Array} x @param {Float32Array} weight */
const norm = (x, weight) => {
  const scale = 1 / Math.sqrt(x.reduce((sum, value) => sum + value * value, 0) / x.length + 1e-5);
  return x.map((value, index) => value * scale * (weight[index] ?? 0));
};

/** Rotary embedding of a head. @param {Float32Array} head @param {number} position */
const rotate = (head, position) => {
  const half = head.length / 2;
  return head.map((value, index) => {
    const angle = position * 500000 ** (-(index % half) / half);
    const partner = head[(index + half) % head.length] ?? 0;
    return value * Math.cos(angle) + (index < half ? -partner : partner) * Math.sin(angle);
  });
};

/** Scores of all tokens after the given ones. @param {Weights} weights @param {number[]} ids */
const logits = (weights, ids) => {
  const { hidden, heads, headDim } = shape;
  const embeddings = weights('model.embed_tokens.weight');
  let stream = ids.map((id) => embeddings.slice(id * hidden, (id + 1) * hidden));
  for (let layer = 0; layer < shape.layers; layer += 1) {
    const of = (/** @type {string} */ name) => weights(`model.layers.${layer}.${name}.weight`);
    const normed = stream.map((x) => norm(x, of('input_layernorm')));
    const keys = normed.map((x, position) => rotate(times(of('self_attn.k_proj'), x), position));
    const values = normed.map((x) => times(of('self_attn.v_proj'), x));
    stream = stream.map((x, position) => {
      const queries = times(of('self_attn.q_proj'), normed[position] ?? x);
      const seen = new Float32Array(heads * headDim);
      for (let head = 0; head < heads; head += 1) {
        const query = rotate(queries.slice(head * headDim, (head + 1) * headDim), position);
        const shares = keys
          .slice(0, position + 1)
          .map((key) =>
            Math.exp(key.reduce((sum, k, at) => sum + k * (query[at] ?? 0), 0) / Math.sqrt(headDim)),
          );
        const total = shares.reduce((a, b) => a + b);
        for (const [from, share] of shares.entries())
          for (let at = 0; at < headDim; at += 1)
            seen[head * headDim + at] =
              (seen[head * headDim + at] ?? 0) + (share / total) * (values[from]?.[at] ?? 0);
      }
      const attended = times(of('self_attn.o_proj'), seen).map((value, at) => value + (x[at] ?? 0));
      const inner = norm(attended, of('post_attention_layernorm'));
      const up = times(of('mlp.up_proj'), inner);
      const gated = times(of('mlp.gate_proj'), inner).map(
        (g, at) => (g / (1 + Math.exp(-g))) * (up[at] ?? 0),
      );
      return times(of('mlp.down_proj'), gated).map((value, at) => value + (attended[at] ?? 0));
    });
  }
  return times(
    weights('lm_head.weight'),
    norm(stream.at(-1) ?? new Float32Array(), weights('model.norm.weight')),
  );
};

/**
 * The model's answer by greedy choice, of at most four words.
 *
 * @param {Map<string, Uint16Array>} tensors bits of bfloat16
 * @param {string} prompt of known words
 */
export const answer = (tensors, prompt) => {
  const decoded = new Map([...tensors].map(([name, data]) => [name, decode(data)]));
  const weights = (/** @type {string} */ name) => decoded.get(name) ?? new Float32Array();
  const asked = encode(prompt);
  const ids = [...asked];
  while (ids.length < asked.length + 4) {
    const scores = logits(weights, ids);
    const best = scores.indexOf(Math.max(...scores));
    if (best === end) break;
    ids.push(best);
  }
  return ids.slice(asked.length).map(wordOf).join(' ');
};
