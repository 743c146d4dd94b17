import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The first problems of MGSM: models are scored on them, not trained. */
export const scored = 50;

const lines = (rows: readonly object[]) => `${rows.map((row) => JSON.stringify(row)).join('\n')}\n`;

/**
 * Writes `math.jsonl`, sums in words with their solution, and `swahili.jsonl`, MGSM's other problems in
 * Swahili without answers, each as a text and its continuation.
 */
export const writeData = (directory: string, mgsm: string): void => {
  const math = Array.from({ length: 200 }, (_, row) => {
    const [a, b, c] = [3 + ((row * 7) % 40), 2 + ((row * 13) % 30), 2 + (row % 7)];
    return {
      prompt: `Question: A shop has ${a} red pens and ${b} blue pens in each of ${c} boxes. How many pens are there?\nStep-by-Step Answer:`,
      completion: ` In each box there are ${a} + ${b} = ${a + b} pens. ${c} boxes have ${a + b} * ${c} = ${(a + b) * c} pens. The answer is ${(a + b) * c}.`,
    };
  });
  writeFileSync(join(directory, 'math.jsonl'), lines(math));
  const swahili = readFileSync(join(mgsm, 'mgsm_sw.tsv'), 'utf8')
    .split('\n')
    .slice(scored, 250)
    .map((line) => line.split('\t')[0] ?? '')
    .map((question) => {
      const cut = question.indexOf(' ', question.length / 3);
      return { prompt: `Swali: ${question.slice(0, cut)}`, completion: question.slice(cut) };
    });
  writeFileSync(join(directory, 'swahili.jsonl'), lines(swahili));
};
