// @ts-check
// Kernels compared with memcpy, on one thread, in and out of cache.
//
//   npm run bench:kernels
//
// GB/s counts the necessary traffic: every input byte read once, every output byte written once. Weights are
// drawn from N(0, 0.02), close to real models: most are subnormal in E4M3, a few in E5M2 and F16. Numbers
// around 1, never subnormal, show the cost of subnormals.
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { bench, do_not_optimize, run, summary } from 'mitata';

const addon = createRequire(import.meta.url)(
  fileURLToPath(new URL('../native/build/Release/kernels_bench.node', import.meta.url)),
);

const f32 = 2;
const dtypes = { BF16: [0, 2], F16: [1, 2], F32: [f32, 4], F8_E4M3: [4, 1], F8_E5M2: [5, 1] };
const sizes = { 'in cache (64 KiB)': 64 * 1024, 'out of cache (256 MiB)': 256 * 1024 * 1024 };

const normal = () => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
const weights = { 'N(0, 0.02)': () => 0.02 * normal(), 'around 1': () => 0.5 + Math.random() };

/** Drawn elements, then repeated: too many for branch predictors to learn. */
const period = 2 ** 18;

/** @param {() => number} draw @param {number} dtype @param {number} width @param {Uint8Array} to */
const fill = (draw, dtype, width, to) => {
  const drawn = Float32Array.from({ length: period }, draw);
  const elements = new Uint8Array(period * width);
  addon.linear('scalar', [new Uint8Array(drawn.buffer)], f32, elements, dtype, period);
  for (let at = 0; at < to.length; at += elements.length) to.set(elements.subarray(0, to.length - at), at);
};

/** @type {Map<string, { bytes: number, elements: number }>} by benchmark */
const amounts = new Map();

/** @param {string} name @param {number} bytes of traffic @param {number} elements @param {() => unknown} work */
const measure = (name, bytes, elements, work) => {
  amounts.set(name, { bytes, elements });
  bench(name, () => do_not_optimize(work()));
};

for (const [place, bytes] of Object.entries(sizes)) {
  // Fill memory first: some hardware skips zeros.
  const [a, b, out] = [1, 2, 3].map((byte) => new Uint8Array(bytes).fill(byte));
  if (!a || !b || !out) throw new Error('three pages');
  let held = '';
  summary(() => {
    measure(`memcpy, ${place}`, 2 * bytes, bytes, () => addon.copy(a, out));
    measure(`xor of two, ${place}`, 3 * bytes, bytes, () => addon.mix(a, b, out));
    for (const [name, [dtype = 0, width = 1]] of Object.entries(dtypes))
      for (const [drawn, draw] of Object.entries(weights))
        for (const isa of addon.instructionSets)
          measure(`average of two ${name}, ${isa}, ${drawn}, ${place}`, 3 * bytes, bytes / width, () => {
            // Benchmarks run after all this, so fill in the first call; a median ignores it.
            if (held !== `${name}, ${drawn}`) for (const to of [a, b]) fill(draw, dtype, width, to);
            held = `${name}, ${drawn}`;
            return addon.linear(isa, [a, b], dtype, out, dtype, bytes / width);
          });
  });
}

// Panels of a product as in jobs, which stay in the L2 cache: 2 operations per rank and element.
/** @type {Map<string, number>} by benchmark */
const operations = new Map();
const panel = { rows: 60, columns: 528 };
for (const isa of addon.instructionSets)
  for (const ranks of [8, 16, 32, 64]) {
    const { rows: high, columns: wide } = panel;
    const [left, right] = [high, wide].map((size) => Float32Array.from({ length: size * ranks }, normal));
    const out = new Float32Array(high * wide);
    const name = `product of rank ${ranks}, ${isa}`;
    operations.set(name, 2 * ranks * out.length);
    measure(name, 4 * (high + wide) * ranks + 4 * out.length, out.length, () =>
      addon.product(isa, left, right, ranks, high, wide, out),
    );
  }

const results = await run({ format: 'quiet', throw: true });
const rows = results.benchmarks.map(({ alias, runs }) => {
  const nanoseconds = runs[0]?.stats?.p50 ?? Number.NaN;
  const { bytes, elements } = amounts.get(alias) ?? { bytes: 0, elements: 0 };
  return {
    benchmark: alias,
    'GB/s': Number((bytes / nanoseconds).toFixed(1)),
    'elements/ns': Number((elements / nanoseconds).toFixed(2)),
    'GFLOP/s': Number(((operations.get(alias) ?? Number.NaN) / nanoseconds).toFixed(1)),
  };
});
console.table(rows);
