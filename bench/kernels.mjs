// @ts-check
// Kernels against memcpy, on one thread, in and out of cache.
//
//   npm run bench:kernels
//
// GB/s counts the traffic that the work needs: every input byte read once and every output byte written once.
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { bench, do_not_optimize, run, summary } from 'mitata';

const addon = createRequire(import.meta.url)(
  fileURLToPath(new URL('../native/build/Release/kernels_bench.node', import.meta.url)),
);

const dtypes = { BF16: [0, 2], F16: [1, 2], F32: [2, 4], F8_E4M3: [4, 1], F8_E5M2: [5, 1] };
const sizes = { 'in cache (64 KiB)': 64 * 1024, 'out of cache (256 MiB)': 256 * 1024 * 1024 };

/** @type {Map<string, number>} bytes of traffic by benchmark */
const traffic = new Map();

/** @param {string} name @param {number} bytes @param {() => unknown} work */
const measure = (name, bytes, work) => {
  traffic.set(name, bytes);
  bench(name, () => do_not_optimize(work()));
};

for (const [place, bytes] of Object.entries(sizes)) {
  // Weights are numbers: neither zeros, which some memory skips, nor NaN.
  const pages = Array.from({ length: 3 }, (_, index) =>
    new Uint8Array(bytes).map((_, at) => (at % 2 === 0 ? (at * 37 + index) & 255 : 0x3c)),
  );
  const [a, b, out] = /** @type {[Uint8Array, Uint8Array, Uint8Array]} */ (pages);
  summary(() => {
    measure(`memcpy, ${place}`, 2 * bytes, () => addon.copy(a, out));
    measure(`xor of two, ${place}`, 3 * bytes, () => addon.mix(a, b, out));
    for (const isa of addon.instructionSets)
      for (const [name, [dtype = 0, width = 1]] of Object.entries(dtypes))
        measure(`average of two ${name}, ${isa}, ${place}`, 3 * bytes, () =>
          addon.linear(isa, [a, b], dtype, out, dtype, bytes / width),
        );
  });
}

const results = await run({ format: 'quiet', throw: true });
const rows = results.benchmarks.map(({ alias, runs }) => {
  const nanoseconds = runs[0]?.stats?.p50 ?? Number.NaN;
  return { benchmark: alias, 'GB/s': Number(((traffic.get(alias) ?? 0) / nanoseconds).toFixed(1)) };
});
console.table(rows);
