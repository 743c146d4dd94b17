import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ProgressDisplay } from '../../src/cli/work/running/progress.js';

const streamOf = (columns?: number) => {
  const written: string[] = [];
  const stream = {
    isTTY: columns !== undefined,
    columns,
    write: (text: string) => written.push(text) > 0,
    on: () => stream,
    once: () => stream,
  };
  return { written, stream: stream as unknown as NodeJS.WriteStream };
};

const merging = (done: number) => ({ phase: 'merge' as const, done: done * 1e6, total: 100e6 });

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('progress where stderr is no terminal', () => {
  it('is a line every five seconds, none before anything is done and none at the end or after it', () => {
    const { written, stream } = streamOf();
    const display = new ProgressDisplay(stream);
    const advance = (ms: number, done: number) => {
      vi.advanceTimersByTime(ms);
      display.show(merging(done));
    };
    advance(6000, 0);
    expect(written).toEqual([]);
    advance(5000, 50);
    expect(written).toEqual(['merging: 50.0 MB of 100 MB, 10.0 MB/s, 5.0 s left\n']);
    advance(1000, 60);
    advance(6000, 100);
    display.end();
    advance(6000, 70);
    expect(written).toHaveLength(1);
  });
});

describe('progress on a terminal', () => {
  it('says no time left before the rate has settled', () => {
    const { written, stream } = streamOf(120);
    const display = new ProgressDisplay(stream);
    display.show(merging(0));
    for (const [ms, done] of [
      [1000, 0.1],
      [4000, 0.5],
      [5000, 2],
    ] as const) {
      vi.advanceTimersByTime(ms);
      display.show(merging(done));
    }
    vi.advanceTimersByTime(1000);
    display.end();
    const bars = written.join('\n');
    expect(bars).toContain('100 kB of 100 MB, 100 kB/s\n');
    expect(bars).toContain('500 kB of 100 MB, 100 kB/s\n');
    expect(bars).toContain('2.00 MB of 100 MB, 200 kB/s, 8 min 10 s left');
  });

  it.each([120, 80, 60])('shows the time left within %i columns', (columns) => {
    const { written, stream } = streamOf(columns);
    const display = new ProgressDisplay(stream);
    display.show(merging(0));
    vi.advanceTimersByTime(5000);
    display.show(merging(50));
    vi.advanceTimersByTime(5000);
    display.end();
    const bars = written.flatMap((text) => text.split('\n')).filter((text) => text.includes('%'));
    expect(bars[0]).toMatch(/0% {2}merging: 0 B of 100 MB$/);
    const last = bars.find((text) => text.includes('50%'));
    expect(last).toMatch(/█░+ 50% {2}merging: 50\.0 MB of 100 MB, 10\.0 MB\/s, 5\.0 s left$/);
    expect(String(last).length).toBeLessThan(columns);
  });
});
