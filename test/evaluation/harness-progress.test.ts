import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  RequestCounter,
  type Requests,
  watchRequests,
} from '../../src/study/evaluation/harness/harness-progress.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';

/** A log of lm_eval 0.4.13 with two kinds of requests: each carriage return redraws a bar. */
const generation = [
  'INFO     [evaluator:589] Running generate_until requests\n',
  'INFO     [api.model:329] Cached requests: 2, Requests remaining: 8\n',
  '\rChecking cached requests: 100%|██████████| 10/10 [00:00<00:00, 1758.42it/s]\n',
  '\rTokenizing inputs: 100%|██████████| 10/10 [00:00<00:00, 99.42it/s]\n',
  '\rRunning generate_until requests:   0%|          | 0/8 [00:00<?, ?it/s]',
  '\rRunning generate_until requests:  38%|███▊      | 3/8 [00:10<00:16,  3.38s/it]',
];
const perplexity = [
  '\rRunning generate_until requests: 100%|██████████| 8/8 [00:20<00:00,  3.38s/it]\n',
  'INFO     [evaluator:589] Running loglikelihood_rolling requests\n',
  'INFO     [api.model:329] Cached requests: 0, Requests remaining: 6\n',
  '\r100%|██████████| 6/6 [00:00<00:00, 4760.48it/s]\n',
  '\rRunning loglikelihood requests:   0%|          | 0/4 [00:00<?, ?it/s]',
  '\rRunning loglikelihood requests: 100%|██████████| 4/4 [00:20<00:00,  5.13s/it]\n',
  '\rRunning loglikelihood requests:   0%|          | 0/2 [00:00<?, ?it/s]',
  '\rRunning loglikelihood requests:  50%|█████     | 1/2 [00:20<00:20,  5.13s/it]',
];

const countOf = (...parts: readonly string[]): Requests | undefined => {
  const counter = new RequestCounter();
  for (const part of parts) counter.feed(part);
  return counter.requests;
};

describe('requests in the log of a run', () => {
  it('are those of the last bar, and those that an earlier run had answered', () => {
    expect(countOf(...generation)).toEqual({ done: 5, total: 10 });
  });

  it('add up over batches of a perplexity, and over kinds of requests', () => {
    expect(countOf(...generation, ...perplexity)).toEqual({ done: 15, total: 16 });
  });

  it('are the same in whatever pieces the log is read', () => {
    const log = [...generation, ...perplexity].join('');
    for (const size of [1, 3, 7, 64]) {
      const pieces = Array.from({ length: Math.ceil(log.length / size) }, (_, at) =>
        log.slice(at * size, (at + 1) * size),
      );
      expect(countOf(...pieces), `${size}`).toEqual({ done: 15, total: 16 });
    }
  });

  it('never pass the total where a long text is several requests', () => {
    const bar = (done: number) =>
      `\rRunning loglikelihood requests:  50%|█████     | ${done}/4 [00:20<00:20]\n`;
    expect(countOf('Cached requests: 0, Requests remaining: 5\n', bar(4), bar(0), bar(4))).toEqual({
      done: 5,
      total: 5,
    });
  });

  it('are none where no bar is over requests', () => {
    expect(
      countOf('\r100%|██████████| 30/30 [00:00<00:00, 1734.81it/s]\n', 'Running: 3/4\n'),
    ).toBeUndefined();
    expect(countOf('')).toBeUndefined();
  });
});

describe('the watch over a log', () => {
  it('leaves out what an earlier run wrote, tells each change once, and survives a log that is gone', {
    timeout: 180_000,
  }, async () => {
    const log = join(temporaryDirectory(), 'run.log');
    const seen: Requests[] = [];
    writeFileSync(log, generation.join(''));
    const seeing = (all: readonly Requests[]) =>
      vi.waitFor(() => expect(seen).toEqual(all), { timeout: 60_000, interval: 100 });
    const end = watchRequests(log, generation.join('').length + 999, (requests) => seen.push(requests));
    const endLost = watchRequests(join(log, 'gone'), 0, () => expect.unreachable());
    onTestFinished(() => {
      end();
      endLost();
    });
    appendFileSync(log, ' '.repeat(999));
    await pause(2500);
    expect(seen).toEqual([]);
    appendFileSync(log, generation.join(''));
    await seeing([{ done: 5, total: 10 }]);
    await pause(2500);
    appendFileSync(log, perplexity.join(''));
    await seeing([
      { done: 5, total: 10 },
      { done: 15, total: 16 },
    ]);
  });
});
