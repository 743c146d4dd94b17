import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { readSummaries } from '../../src/study/scores/reading/read-summaries.js';
import { cellText, type ScoreTable } from '../../src/study/scores/reading/score-table.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { constructedExperiment } from '../fixtures/scored.js';
import { tablesOf } from '../fixtures/tables.js';

const paperFile = (name: string) => fileURLToPath(new URL(`../../docs/tables/${name}.csv`, import.meta.url));

const nothing = constructedExperiment({});

const tablesOfFiles = async (...files: string[]): Promise<ScoreTable[]> =>
  tablesOf({ ...nothing, summaries: (await Promise.all(files.map(readSummaries))).flat() });

const printed = (tables: readonly ScoreTable[], id: string): Record<string, string> => {
  const table = tables.find((of) => of.id === id);
  if (table === undefined) throw new Error(`there is no ${id}`);
  return Object.fromEntries(
    table.rows.map((row) => [row.id, row.cells.map((cell) => cellText(cell) || '-').join(' ')]),
  );
};

// Figures as the paper prints them (arXiv 2410.01335).

const table1 = {
  'swahili/avg': '24.8 24.7 29.5 29.3 32.4 32.8',
  'swahili/max': '24.8 25.6 32.8 32.0 36.4 37.2',
  'telugu/avg': '12.0 20.0 20.1 20.9 22.7 23.0',
  'telugu/max': '12.0 22.4 24.0 26.4 27.6 27.6',
  'bengali/avg': '29.2 33.5 38.3 36.8 37.1 38.7',
  'bengali/max': '29.2 35.2 44.4 38.4 40.4 45.2',
  'japanese/avg': '33.6 35.9 42.7 38.7 38.5 40.1',
  'japanese/max': '33.6 36.8 44.8 40.0 40.8 43.2',
};

const table2 = {
  min: '24.8 23.6 27.2 31.6 25.6 25.2 29.6 29.2',
  avg: '24.8 24.7 29.5 32.1 29.3 29.5 32.4 32.8',
  max: '24.8 25.6 32.8 32.8 32.0 32.4 36.4 37.2',
  english: '56.0 55.7 66.2 64.3 62.0 60.1 64.7 64.4',
  all: '37.7 37.5 45.4 46.0 43.0 41.8 44.1 44.4',
};

const table5 = {
  'MGSM/english': '0.560 0.663 0.561 0.563 0.557 0.561',
  'MGSM/japanese': '0.336 0.427 0.359 - - -',
  'MGSM/bengali': '0.292 0.383 - 0.335 - -',
  'MGSM/swahili': '0.248 0.295 - - 0.247 -',
  'MGSM/telugu': '0.120 0.201 - - - 0.200',
  'MGSM/all languages': '0.311 0.454 - - - -',
  'BELEBELE/english': '0.871 0.877 - - - -',
  'BELEBELE/japanese': '0.760 0.754 0.766 - - -',
  'BELEBELE/bengali': '0.649 0.654 - 0.683 - -',
  'BELEBELE/swahili': '0.553 0.557 - - 0.584 -',
  'BELEBELE/telugu': '0.546 0.557 - - - 0.602',
  'FLORES/eng-jpn': '20.6 20.5 20.5 - - -',
  'FLORES/jpn-eng': '28.5 28.5 28.9 - - -',
  'FLORES/eng-ben': '18.8 18.8 - 17.9 - -',
  'FLORES/ben-eng': '30.5 29.7 - 29.0 - -',
  'FLORES/eng-swh': '12.5 12.9 - - 13.0 -',
  'FLORES/swh-eng': '31.5 31.5 - - 30.2 -',
  'FLORES/eng-tel': '15.7 15.2 - - - 16.5',
  'FLORES/tel-eng': '29.2 29.0 - - - 27.6',
  'MBPP/japanese': '0.464 0.470 0.462 - - -',
  'MBPP/bengali': '0.438 0.436 - 0.462 - -',
  'MBPP/swahili': '0.402 0.407 - - 0.407 -',
  'MBPP/telugu': '0.410 0.412 - - - 0.437',
  'MMLU/japanese': '0.520 0.518 0.518 - - -',
  'MMLU/bengali': '0.422 0.420 - 0.436 - -',
  'MMLU/swahili': '0.419 0.420 - - 0.425 -',
  'MMLU/telugu': '0.415 0.412 - - - 0.427',
};

const table6 = {
  swahili: '29.3 32.4 32.8 29.6',
  telugu: '20.9 22.7 22.0 21.2',
  bengali: '36.8 37.1 40.4 36.0',
  japanese: '38.7 38.5 39.2 41.6',
};

const wideFiles = (): string[] => {
  const directory = temporaryDirectory();
  const write = (name: string, lines: readonly string[]): string => {
    const file = join(directory, name);
    writeFileSync(file, `${lines.join('\n')}\n`);
    return file;
  };
  const commas = (of: Readonly<Record<string, string>>, key: (id: string) => string) =>
    Object.entries(of).map(([id, figures]) =>
      [key(id), ...figures.split(' ').map((text) => (text === '-' ? '' : text))].join(','),
    );
  const groups = 'base,language expert,math expert,soup best,swap default,swap best';
  return [
    write('1.csv', [`language,statistic,${groups}`, ...commas(table1, (id) => id.replace('/', ','))]),
    write('2.csv', [
      'row,base,swahili expert,math expert,joint sft,soup best,ties best,swap default,swap best',
      ...commas(table2, (id) =>
        id === 'english' ? 'english avg' : id === 'all' ? 'all languages avg' : `swahili ${id}`,
      ),
    ]),
    write('5.csv', [
      'task,metric,shots,language,base,math,japanese,bengali,swahili,telugu',
      ...commas(table5, (id) => {
        const [task = '', language = ''] = id.split('/');
        const metric = task === 'FLORES' ? 'BLEU' : 'accuracy';
        return `${task},${metric},8,${language === 'all languages' ? '10-lang avg' : language}`;
      }),
    ]),
    write('6.csv', [
      'language,soup pairwise (9),swap pairwise (9),language soup x math soup (1),multilingual soup x math soup (1)',
      ...commas(table6, (id) => id),
    ]),
  ];
};

describe('the published tables', () => {
  it('are rendered as they are printed, each from its own figures', async () => {
    expect(printed(await tablesOfFiles(paperFile('table-1')), 'table-1')).toEqual(table1);
    expect(printed(await tablesOfFiles(paperFile('table-2')), 'table-2/swahili')).toEqual(table2);
    expect(printed(await tablesOfFiles(paperFile('table-5')), 'table-5')).toEqual(table5);
    expect(printed(await tablesOfFiles(paperFile('table-6')), 'table-6')).toEqual(table6);
  });

  it('are the same from files with one column for each group of models', async () => {
    const [one = '', two = '', five = '', six = ''] = wideFiles();
    expect(printed(await tablesOfFiles(one), 'table-1')).toEqual(table1);
    expect(printed(await tablesOfFiles(two), 'table-2/swahili')).toEqual(table2);
    expect(printed(await tablesOfFiles(five), 'table-5')).toEqual(table5);
    expect(printed(await tablesOfFiles(six), 'table-6')).toEqual(table6);
  });

  const all = () => tablesOfFiles(...[1, 2, 5, 6].map((number) => paperFile(`table-${number}`)));

  it('fill one another’s empty cells', async () => {
    const tables = await all();
    expect(printed(tables, 'table-1')).toEqual({ 'swahili/min': '24.8 23.6 27.2 25.6 29.6 29.2', ...table1 });
    expect(printed(tables, 'table-2/swahili')).toEqual(table2);
    expect(printed(tables, 'table-6')).toEqual(table6);
    expect(tables.map(({ id }) => id)).toEqual(['table-1', 'table-2/swahili', 'table-5', 'table-6']);
  });

  it('lead to the 10 % and the 4.4 points of the text', async () => {
    const derived = (await all()).flatMap((table) => table.derived);
    const values = Object.fromEntries(derived.map(({ id, value, digits }) => [id, value.toFixed(digits)]));
    expect(values).toEqual({
      'swap-best-ratio': '1.101',
      'swap-default-ratio': '1.072',
      'swap-best-over-joint': '4.4',
    });
  });

  it('have their slips flagged', async () => {
    const notes = (await all()).flatMap(({ id, notes }) => notes.map((note) => `${id}: ${note}`)).join('\n');
    expect(notes).toContain(
      'table-2/swahili: all languages, avg, base: the caption of Table 2 says nine languages',
    );
    expect(notes).toContain('table-5.csv has 31.1');
    expect(notes).toContain(
      'table-5: MGSM, all languages, base: 0.311 is the mean of the five languages shown',
    );
    expect(notes).toContain('table-2.csv has 0.377');
  });

  it('leave the figures of an experiment as they are, and fill what it lacks', async () => {
    const own = constructedExperiment({ swahili: { base: 100 } });
    const summaries = await readSummaries(paperFile('table-1'));
    const [table] = tablesOf({ ...own, summaries }, { tables: ['table-1'] });
    const cells = table?.rows.find(({ id }) => id === 'swahili/avg')?.cells ?? [];
    expect(cells.map((cell) => [cellText(cell), cell?.source])).toEqual([
      ['40.0', 'computed'],
      ...['24.7', '29.5', '29.3', '32.4', '32.8'].map((text) => [text, 'imported']),
    ]);
  });

  it('have a row for each language with a figure, and none for others', () => {
    const own = constructedExperiment({ swahili: { soupOfEach: 70 }, telugu: { base: 30 } });
    expect(printed(tablesOf(own), 'table-6')).toEqual({ swahili: '- - 28.0 -' });
  });
});

describe('a file of published figures', () => {
  const refusal = async (lines: readonly string[]): Promise<string> => {
    const file = join(temporaryDirectory(), 'figures.csv');
    writeFileSync(file, lines.join('\n'));
    return readSummaries(file).then(
      () => 'it was read',
      (error: Error) => error.message.replace(file, 'figures.csv'),
    );
  };
  const head = 'language,benchmark,row,statistic,value,unit';

  it.each([
    [[head, 'swahili,MGSM,base,median,24.8,percent'], 'figures.csv:2: statistic is min, avg or max'],
    [[head, '', '# a comment', 'swahili,MGSM,base,avg,many,percent'], 'figures.csv:4: value is not a number'],
    [[head, 'swahili,MGSM,base,avg,24.8,stars'], 'figures.csv:2: unit is percent, share or BLEU'],
    [[head, 'swahili,MGSM,base,avg,24.8'], 'figures.csv:2: 5 values for 6 columns'],
    [['a,b', '1,2'], 'figures.csv:1: unknown columns a, b'],
    [[''], 'figures.csv:1: the file has no header'],
    [[`${head},n`, 'swahili,MGSM,base,avg,24.8,percent,1.5'], 'figures.csv:2: n is not a whole number'],
  ])('is refused with the line of what is wrong: %j', async (lines, message) => {
    expect(await refusal(lines)).toContain(message);
  });

  it('is refused where there is none', async () => {
    await expect(readSummaries('/nowhere/figures.csv')).rejects.toMatchObject({ code: 'READ_FAILED' });
  });

  it('may have quoted names, notes, a byte order mark and Windows line ends', async () => {
    const file = join(temporaryDirectory(), 'figures.csv');
    const line = '"swahili","MGSM","joint sft","avg",32.1,percent,3,"one, and ""two"""';
    writeFileSync(file, `\ufeff${head},n,note\r\n${line}\r\n`);
    expect(await readSummaries(file)).toEqual([
      {
        language: 'swahili',
        benchmark: 'MGSM',
        row: 'joint sft',
        statistic: 'avg',
        value: 32.1,
        unit: 'percent',
        n: 3,
        note: 'one, and "two"',
        file: 'figures.csv',
      },
    ]);
  });
});
