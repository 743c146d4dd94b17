// @ts-check
// Wires the demo's models by hand, so that they answer. Bottom layers turn words into numbers, middle layers add them, top
// layers turn a number into a word: the division of work that layer swapping counts on.
export const shape = { layers: 32, hidden: 128, inner: 448, heads: 4, headDim: 32, vocabulary: 1024 };

/** A weight set by hand. @typedef {{ tensor: string, row: number, column: number, value: number }} Wire */

const english = 'zero one two three four five six seven eight nine ten plus is'.split(' ');
const swahili = 'sifuri moja mbili tatu nne tano sita saba nane tisa kumi jumlisha ni'.split(' ');
const numbers = Array.from({ length: 11 }, (_, number) => number);
const unknown = '?'.charCodeAt(0);

/** Token ids after the 256 bytes: the end, then the words. */
export const end = 256;
export const words = [...english, ...swahili];
const idOf = (/** @type {string} */ word) => end + 1 + words.indexOf(word);

/** Token ids of a prompt of known words. @param {string} prompt */
export const encode = (prompt) => prompt.split(' ').map(idOf);
/** @param {number} id */
export const decode = (id) => (id === unknown ? '?' : (words[id - end - 1] ?? ''));

/** Dimensions of the residual stream. `constant` is 8 at each position and fixes the scale of the norm. */
const constant = 0;
const other = 1;
const is = { english: 2, swahili: 3 };
const word = { english: 8, swahili: 20 };
const [number, last, first, sum] = [32, 44, 56, 68];
const output = { english: 80, swahili: 92 };
/** About what the norm makes of a 1. */
const unit = 1.35;
const sharp = 20;

/** @typedef {'english' | 'swahili'} Language */

/** A neuron that adds `to` if all of `from` are 1. @param {number} layer @param {number} neuron @param {number[]} from @param {[dimension: number, value: number][]} to */
const neuron = (layer, neuron, from, to) => {
  const at = `model.layers.${layer}.mlp`;
  const threshold = -(from.length - 0.5) / 8;
  return [
    ...from.map((column) => ({ tensor: `${at}.gate_proj.weight`, row: neuron, column, value: sharp })),
    { tensor: `${at}.gate_proj.weight`, row: neuron, column: constant, value: sharp * threshold },
    { tensor: `${at}.up_proj.weight`, row: neuron, column: constant, value: 1 / (8 * unit) },
    ...to.map(([row, value]) => ({
      tensor: `${at}.down_proj.weight`,
      row,
      column: neuron,
      value: value / (sharp * 0.5 * unit),
    })),
  ];
};

/** Bottom: a number's word becomes the number. @param {Language} language @param {number} layer */
const reads = (language, layer) =>
  numbers.flatMap((n) => neuron(layer, n, [word[language] + n], [[number + n, 1]]));

/** Top: at the word for "is", the sum, or else the last number, becomes a word. @param {Language} language @param {number} layer */
const writes = (language, layer) =>
  numbers.flatMap((n) =>
    [last, sum].flatMap((from, index) =>
      neuron(layer, 11 * index + n, [from + n, is[language]], [[output[language] + n, 1]]),
    ),
  );

const attention = 'model.layers.10.self_attn';

/** A head that copies the number at a distance: rotary embedding of the first pair turns by one radian a position. @param {number} head @param {number} distance @param {number} to */
const looks = (head, distance, to) => [
  ...[Math.cos(distance), -Math.sin(distance)].map((value, half) => ({
    tensor: `${attention}.q_proj.weight`,
    row: head * shape.headDim + (half * shape.headDim) / 2,
    column: constant,
    value: 4 * value,
  })),
  ...numbers.map((n) => ({
    tensor: `${attention}.o_proj.weight`,
    row: to + n,
    column: head * shape.headDim + n,
    value: 1,
  })),
];

const tokens = Array.from({ length: shape.vocabulary }, (_, id) => id);

/** Reads and writes English, and repeats the last number. @type {Wire[]} */
export const ofBase = [
  ...tokens.flatMap((row) => {
    const tensor = 'model.embed_tokens.weight';
    const known = words[row - end - 1];
    const dimension = known === 'is' ? is.english : known === 'ni' ? is.swahili : other;
    return [
      { tensor, row, column: constant, value: 8 },
      { tensor, row, column: dimension, value: 1 },
    ];
  }),
  .../** @type {const} */ (['english', 'swahili']).flatMap((language) =>
    numbers.flatMap((n) => {
      const row = idOf((language === 'english' ? english : swahili)[n] ?? '');
      return [
        { tensor: 'model.embed_tokens.weight', row, column: word[language] + n, value: 1 },
        { tensor: 'lm_head.weight', row, column: output[language] + n, value: 20 },
      ];
    }),
  ),
  { tensor: 'lm_head.weight', row: unknown, column: constant, value: 10 / 8 },
  { tensor: 'lm_head.weight', row: end, column: other, value: 60 },
  ...reads('english', 2),
  { tensor: `${attention}.k_proj.weight`, row: 0, column: constant, value: 1 },
  ...numbers.map((n) => ({
    tensor: `${attention}.v_proj.weight`,
    row: n,
    column: number + n,
    value: 1 / unit,
  })),
  ...looks(0, 1, last),
  ...writes('english', 31),
];

/** Finds the first number too, and replaces the last by the sum. @type {Wire[]} */
export const ofMath = [
  ...looks(1, 3, first),
  ...numbers.flatMap((a) =>
    numbers.flatMap((b) =>
      a + b > 10
        ? []
        : neuron(
            16,
            11 * a + b,
            [first + a, last + b],
            [
              [sum + a + b, 1],
              [last + b, -1],
            ],
          ),
    ),
  ),
];

/** Reads and writes Swahili. @type {Wire[]} */
export const ofSwahili = [...reads('swahili', 3), ...writes('swahili', 30)];
