import cliProgress from 'cli-progress';
import type { Progress } from '../engine/run.js';
import { formatBytes, formatRate, formatSeconds } from '../report/format.js';

/** Interval of progress lines, in ms, where stderr is not a terminal. */
const lineMs = 5000;

/** The work of each phase; inputs are measured before a plan that needs statistics of them. */
const work: Readonly<Record<Progress['phase'], string>> = {
  analysis: 'measuring the models',
  merge: 'merging',
  comparison: 'comparing the models',
  checksums: 'checking',
};

const describe = ({ phase, done, total, merges }: Progress, seconds: number, began: number): string => {
  const ofBatch = merges === undefined ? '' : `, ${merges.done} of ${merges.total} merges`;
  if (phase === 'checksums') return `${work[phase]}: ${done} of ${total} files`;
  const rate = (done - began) / Math.max(seconds, 1e-3);
  const left = rate > 0 ? `, ${formatSeconds((total - done) / rate)} left` : '';
  return `${work[phase]}: ${formatBytes(done)} of ${formatBytes(total)}, ${formatRate(done - began, seconds)}${left}${ofBatch}`;
};

/** Shows progress on stderr: a bar on a terminal, a line every few seconds elsewhere. */
export class ProgressDisplay {
  readonly #stream: NodeJS.WriteStream;
  #started = performance.now();
  #phase: Progress['phase'] | undefined;
  #bar: cliProgress.SingleBar | undefined;
  #lastLine = performance.now();
  /**
   * `done` at the phase's first report: work of the run that is being resumed, which does not count for the
   * rate.
   */
  #began: number | undefined;

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
  }

  readonly show = (progress: Progress): void => {
    // Each phase has a rate of its own.
    if (progress.phase !== this.#phase) [this.#started, this.#began] = [performance.now(), undefined];
    this.#phase = progress.phase;
    this.#began ??= progress.phase === 'merge' ? progress.done : 0;
    const text = describe(progress, (performance.now() - this.#started) / 1000, this.#began);
    if (this.#stream.isTTY) this.#draw(progress, text);
    else if (performance.now() - this.#lastLine >= lineMs) {
      this.#stream.write(`${text}\n`);
      this.#lastLine = performance.now();
    }
  };

  /** Removes the bar. */
  end(): void {
    this.#bar?.stop();
    this.#bar = undefined;
  }

  #draw({ done, total }: Progress, text: string): void {
    if (this.#bar === undefined) {
      this.#bar = new cliProgress.SingleBar(
        {
          stream: this.#stream,
          format: '{bar} {percentage}%  {text}',
          hideCursor: true,
          clearOnComplete: true,
          barsize: 30,
        },
        cliProgress.Presets.shades_classic,
      );
      this.#bar.start(total, done, { text });
    }
    this.#bar.setTotal(total);
    this.#bar.update(done, { text });
  }
}
