import cliProgress from 'cli-progress';
import { counted, formatBytes, formatRate, formatSeconds } from '../../../core/base/format.js';
import type { Progress } from '../../../core/engine/run.js';

const lineMs = 5000;

const work: Readonly<Record<Progress['phase'], string>> = {
  download: 'downloading',
  upload: 'uploading',
  analysis: 'measuring the models',
  merge: 'merging',
  comparison: 'comparing the models',
  extraction: 'extracting',
  recomputation: 'recomputing',
  checksums: 'checking',
  conversion: 'converting',
  quantisation: 'quantising',
};

const units: Partial<Record<Progress['phase'], string>> = { checksums: 'files', quantisation: 'tensors' };

/** Seconds and share of the work after which the remaining time is shown. */
const [settledSeconds, settledShare] = [3, 0.01];

const describe = ({ phase, done, total, merges }: Progress, seconds: number, began: number): string => {
  const ofBatch = merges === undefined ? '' : `, ${merges.done} of ${counted(merges.total, 'merge')}`;
  const unit = units[phase];
  if (unit !== undefined) return `${work[phase]}: ${done} of ${total} ${unit}`;
  const amount = `${work[phase]}: ${formatBytes(done)} of ${formatBytes(total)}`;
  // The rate is unknown at the start, and no time is left at the end.
  if (done === began || done >= total) return `${amount}${ofBatch}`;
  const rate = `${amount}, ${formatRate(done - began, seconds)}`;
  if (seconds < settledSeconds || done - began < settledShare * (total - began)) return `${rate}${ofBatch}`;
  const left = formatSeconds(((total - done) / (done - began)) * seconds);
  return `${rate}, ${left} left${ofBatch}`;
};

const widestBar = 30;
const leastBar = 4;

const formatLine = (share: number, text: string, columns: number): string => {
  const figures = `${Math.floor(100 * share)}%  ${text}`;
  const width = Math.min(widestBar, columns - figures.length - 2);
  if (width < leastBar) return figures;
  const full = Math.round(share * width);
  return `${'█'.repeat(full)}${'░'.repeat(width - full)} ${figures}`;
};

/** A bar on a terminal; elsewhere a line every few seconds. */
export class ProgressDisplay {
  readonly #stream: NodeJS.WriteStream;
  #started = performance.now();
  #phase: Progress['phase'] | undefined;
  #bar: cliProgress.SingleBar | undefined;
  #lastLine = performance.now();
  /** `done` at the phase's first report: work found done by a resumed run, which the rate excludes. */
  #began: number | undefined;
  #hasEnded = false;

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
  }

  readonly show = (progress: Progress): void => {
    if (this.#hasEnded) return;
    if (progress.phase !== this.#phase) [this.#started, this.#began] = [performance.now(), undefined];
    this.#phase = progress.phase;
    this.#began ??= progress.phase === 'merge' ? progress.done : 0;
    const text = describe(progress, (performance.now() - this.#started) / 1000, this.#began);
    if (this.#stream.isTTY) this.#draw(progress, text);
    else if (
      progress.done > this.#began &&
      progress.done < progress.total &&
      performance.now() - this.#lastLine >= lineMs
    ) {
      this.#stream.write(`${text}\n`);
      this.#lastLine = performance.now();
    }
  };

  end(): void {
    this.#hasEnded = true;
    this.#bar?.stop();
    this.#bar = undefined;
  }

  #draw({ done, total }: Progress, text: string): void {
    if (this.#bar === undefined) {
      this.#bar = new cliProgress.SingleBar(
        {
          stream: this.#stream,
          format: (_options, { progress }, { text: words }: { text: string }) =>
            formatLine(progress, words, this.#stream.columns || 80),
          hideCursor: true,
          clearOnComplete: true,
        },
        cliProgress.Presets.shades_classic,
      );
      this.#bar.start(total, done, { text });
    }
    this.#bar.setTotal(total);
    this.#bar.update(done, { text });
  }
}
