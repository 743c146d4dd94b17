import { groupBy, ownValue } from '../../../core/base/errors/lookup.js';
import type { BenchmarkTasks, LocalRows } from './benchmark.js';
import { boxedAnswer, withoutMarks } from './foldings.js';
import { floresTasksOf } from './local/flores-directions.js';
import { includeDomains } from './local/include-domains.js';
import { type EvaluationLanguage, mgsmLanguages, type Spelling, spelledBy } from './local/languages.js';
import { mmluSubjects } from './local/mmlu-subjects.js';

const mgsmCodes = mgsmLanguages;
const english = spelledBy('code', 'en');
const iroko = 'amh|eng|ewe|fra|hau|ibo|kin|lin|lug|orm|sna|sot|swa|twi|wol|xho|yor|zul';
const letters = ['A', 'B', 'C', 'D'] as const;
const options = { option_a: 'text', option_b: 'text', option_c: 'text', option_d: 'text' } as const;
const proxFields = [
  'biology business chemistry computer_science economics engineering health history law math other',
  'philosophy physics psychology',
]
  .join(' ')
  .split(' ');
const acc = ['acc,none'];
const extracted = ['exact_match,flexible-extract'];
const mgsmMetrics = ['exact_match,last-number', ...extracted];
const wholeMmlu =
  'am|ar|bn|cs|de|el|en|es|fa|fil|fr|ha|he|hi|id|ig|it|ja|ko|ky|lt|mg|ms|ne|nl|ny|pl|pt|ro|ru|si|sn|so|sr|sv|sw|te|tr|uk|vi|yo|zh';
const prox = 'af|ar|bn|cs|de|en|es|fr|hi|hu|id|it|ja|ko|mr|ne|pt|ru|sr|sw|te|th|uk|ur|vi|wo|yo|zh|zu';

const belebeleRows: LocalRows = {
  harness: 'belebele',
  files: ['belebele/LANG.jsonl', 'belebele/data/LANG.jsonl', 'LANG.jsonl'],
  splits: ['test'],
  columns: {
    flores_passage: 'text',
    question: 'text',
    mc_answer1: 'text',
    mc_answer2: 'text',
    mc_answer3: 'text',
    mc_answer4: 'text',
    correct_answer_num: ['1', '2', '3', '4'],
  },
};
const globalMmluRows: LocalRows = {
  harness: 'global_mmlu/full',
  files: ['global_mmlu/LANG/SPLIT.jsonl'],
  splits: ['test', 'dev'],
  columns: { subject: mmluSubjects, question: 'text', ...options, answer: letters },
  by: { column: 'subject', members: () => mmluSubjects },
};

const mmluRows: LocalRows = {
  harness: 'mmlu/default',
  files: ['mmlu/SPLIT.jsonl'],
  splits: ['test', 'dev'],
  columns: { subject: mmluSubjects, question: 'text', choices: 'four texts', answer: [0, 1, 2, 3] },
  by: { column: 'subject', members: () => mmluSubjects },
};

const nli = { premise: 'text', hypothesis: 'text', label: [0, 1, 2] } as const;
const afriMgsmRows: LocalRows = {
  harness: 'afrimgsm',
  files: ['afrimgsm/LANG/SPLIT.jsonl'],
  splits: ['test', 'train'],
  columns: { question: 'text', answer: 'text?', answer_number: 'whole' },
};
const afriMmluRows: LocalRows = {
  harness: 'afrimmlu',
  files: ['afrimmlu/LANG/SPLIT.jsonl'],
  splits: ['test', 'validation'],
  columns: { subject: 'text', question: 'text', choices: 'text', answer: letters },
};
const afriXnliRows: LocalRows = {
  harness: 'afrixnli',
  files: ['afrixnli/LANG/SPLIT.jsonl'],
  splits: ['test', 'validation'],
  columns: nli,
};
const xnliRows: LocalRows = {
  harness: 'xnli',
  files: ['xnli/LANG/SPLIT.jsonl'],
  splits: ['validation', 'train'],
  columns: nli,
};
const liteRows: LocalRows = {
  harness: 'global_mmlu/default',
  files: ['global_mmlu_lite/LANG/SPLIT.jsonl'],
  splits: ['test', 'dev'],
  columns: {
    question: 'text',
    ...options,
    answer: letters,
    subject_category: ['Business', 'Humanities', 'Medical', 'Other', 'STEM', 'Social Sciences'],
  },
  by: {
    column: 'subject_category',
    members: () => ['business', 'humanities', 'medical', 'other', 'stem', 'social_sciences'],
  },
};
const includeRows: LocalRows = {
  harness: 'include/default',
  files: ['include/LANG/SPLIT.jsonl'],
  splits: ['test'],
  columns: { question: 'text', ...options, answer: [0, 1, 2, 3], domain: 'text' },
  by: {
    column: 'domain',
    members: (language) => (ownValue(includeDomains, language) ?? '').split(' '),
  },
};

const mmluProX = (lite: string, problems: number): BenchmarkTasks => ({
  title: `MMLU-ProX${lite === '' ? '' : '-Lite'}`,
  measures: 'knowledge with ten choices, answered after reasoning, exact match',
  forms: [
    {
      name: `mmlu_prox_${lite}LANG`,
      metrics: ['exact_match,custom-extract'],
      sameAnswer: withoutMarks,
      shots: 5,
      rows: {
        harness: 'mmlu_prox',
        files: [`mmlu_prox${lite === '' ? '' : '_lite'}/LANG/SPLIT.jsonl`],
        splits: ['test', 'validation'],
        columns: {
          question: 'text',
          ...Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`option_${at}`, 'text?' as const])),
          answer: [...'ABCDEFGHIJ'],
          cot_content: 'text?',
          category: proxFields.map((field) => field.replaceAll('_', ' ')),
        },
        by: { column: 'category', members: () => proxFields },
      },
    },
  ],
  languages: spelledBy('code', prox),
  problems,
  asks: 'answers',
});

const aime = (year: 24 | 25): BenchmarkTasks => ({
  title: `AIME 20${year}`,
  measures: 'competition mathematics, exact match',
  forms: [
    {
      name: `aime${year}`,
      metrics: ['exact_match,none'],
      sameAnswer: boxedAnswer,
      shots: 0,
      rows: {
        harness: 'aime',
        files: [`aime/aime${year}.jsonl`, `aime${year}.jsonl`],
        splits: [year === 24 ? 'train' : 'test'],
        columns: year === 24 ? { Problem: 'text', Answer: 'text' } : { problem: 'text', answer: 'text' },
      },
    },
  ],
  languages: english,
  problems: 30,
  asks: 'answers',
});

const gpqa = (set: 'diamond' | 'main', problems: number): BenchmarkTasks => {
  const rows: LocalRows = {
    harness: 'gpqa',
    files: [`gpqa/gpqa_${set}.jsonl`],
    splits: ['train'],
    columns: {
      Question: 'text',
      'Correct Answer': 'text',
      'Incorrect Answer 1': 'text',
      'Incorrect Answer 2': 'text',
      'Incorrect Answer 3': 'text',
    },
  };
  return {
    title: `GPQA ${set}`,
    measures: 'science at the level of a doctorate, accuracy',
    forms: [
      { name: `gpqa_${set}_zeroshot`, metrics: acc, shots: 0, rows },
      { name: `gpqa_${set}_n_shot`, metrics: acc, shots: 0, isApart: true, rows },
      {
        name: `gpqa_${set}_(?:cot_zeroshot|cot_n_shot|generative_n_shot)`,
        metrics: extracted,
        sameAnswer: withoutMarks,
        shots: 0,
        isApart: true,
        asks: 'answers',
        rows,
      },
    ],
    languages: english,
    problems,
    asks: 'choices',
  };
};

const declared = {
  mgsm: {
    title: 'MGSM',
    measures: 'school mathematics, exact match',
    forms: [
      { name: 'layerloom_mgsm_LANG', metrics: mgsmMetrics, sameAnswer: withoutMarks, shots: 8 },
      {
        name: 'mgsm_(?:direct|native_cot|en_cot)_LANG',
        metrics: [...extracted, 'exact_match,remove_whitespace'],
        sameAnswer: withoutMarks,
        shots: 8,
      },
    ],
    languages: mgsmCodes,
    problems: 250,
    asks: 'answers',
    isPaper: true,
    data: {
      files: 'mgsm_LANG.tsv, exemplars.json',
      rows: 'question, tab, answer; in exemplars.json {LANG: {"1": {"q", "a"}, …}}',
    },
  },
  belebele: {
    title: 'BELEBELE',
    measures: 'reading comprehension, accuracy',
    forms: [{ name: 'belebele_LANG', metrics: acc, shots: 5, rows: belebeleRows }],
    spelling: 'flores',
    languages: spelledBy(
      'code',
      'af|sq|am|ar|hy|az|eu|bn|bg|ny|zh|hr|cs|nl|en|et|fi|fr|ka|de|el|ha|he|hi|hu|ig|id|it|ja|kk|rw|ko|ky|ln|lt|lg|mk|mg|ms|ml|mr|ne|om|fa|pl|pt|ro|ru|sr|sn|si|so|st|es|sw|sv|fil|ta|te|th|tr|uk|ur|uz|vi|wo|xh|yo|zu',
    ),
    problems: 900,
    asks: 'choices',
    isPaper: true,
  },
  flores: {
    title: 'FLORES-200',
    inTables: 'FLORES',
    measures: 'translation from and to English, BLEU',
    forms: [
      {
        name: 'layerloom_flores_(?:eng_)?(?<language>(?!eng)[a-z]{3})(?:_eng)?',
        // Prefers BLEU over characters: in these languages BLEU over words means little.
        metrics: ['bleu_char,none', 'bleu,none'],
        shots: 0,
      },
    ],
    languages: mgsmCodes,
    tasksOf: floresTasksOf,
    problems: 1012,
    asks: 'answers',
    isPaper: true,
    data: { files: 'flores/LANG.devtest', rows: 'a sentence a line, the same line in all languages' },
  },
  mmlu: {
    title: 'MMLU',
    measures: 'knowledge, accuracy; outside English Global-MMLU',
    forms: [
      { name: 'global_mmlu_full_LANG', metrics: acc, shots: 5, rows: globalMmluRows },
      { name: 'mmlu', metrics: acc, shots: 5, rows: mmluRows },
    ],
    languages: spelledBy('code', wholeMmlu),
    tasksOf: ({ code }) => [code === 'en' ? 'mmlu' : `global_mmlu_full_${code}`],
    problems: 14_042,
    asks: 'choices',
    isPaper: true,
  },
  mbpp: {
    title: 'MBPP',
    measures: 'Python programs, pass@1; it runs what models write',
    forms: [
      { name: 'layerloom_mbpp_LANG', metrics: ['pass_at_1,none'], shots: 0 },
      {
        name: 'mbpp(?:_instruct)?',
        metrics: ['pass_at_1,none', 'pass_at_1,extract_code', 'pass@1,create_test'],
        shots: 0,
      },
      {
        name: 'mbpp_plus(?:_instruct)?',
        metrics: ['pass_at_1,none', 'pass_at_1,extract_code', 'pass@1,create_test'],
        shots: 0,
        isApart: true,
      },
    ],
    languages: mgsmCodes,
    problems: 500,
    asks: 'programs',
    isPaper: true,
    data: {
      files: 'mbpp/LANG.jsonl',
      rows: 'task_id (11–510; 2–4 are the worked examples), text (the description, in the language), code, test_list (three)',
    },
  },
  perplexity: {
    title: 'Perplexity',
    inTables: 'perplexity',
    measures: "of MGSM's questions, for small models",
    forms: [{ name: 'layerloom_mgsm_ppl_LANG', metrics: ['byte_perplexity,none'], shots: null }],
    languages: mgsmCodes,
    problems: 250,
    asks: 'likelihoods',
    data: { files: 'mgsm_LANG.tsv', rows: 'those of MGSM' },
  },
  'mgsm-rev2': {
    title: 'MGSM-Rev2',
    measures: 'MGSM with corrected problems, exact match',
    forms: [{ name: 'layerloom_mgsm_rev2_LANG', metrics: mgsmMetrics, sameAnswer: withoutMarks, shots: 8 }],
    languages: mgsmCodes,
    problems: 250,
    asks: 'answers',
    data: { files: 'mgsm_rev2/mgsm_LANG.tsv, exemplars.json', rows: 'those of MGSM' },
  },
  'mgsm-pro': {
    title: 'MGSM-Pro',
    measures: 'variants of MGSM with other names and numbers, exact match',
    forms: [{ name: 'layerloom_mgsm_pro_LANG', metrics: mgsmMetrics, sameAnswer: withoutMarks, shots: 8 }],
    languages: spelledBy('code', 'en|fr|ja|sw|zh'),
    asks: 'answers',
    data: {
      files: 'mgsm_pro/symbolic/NAME.jsonl, exemplars.json',
      rows: 'question, answer; NAME is the language in English: swahili',
    },
    caveat:
      'Variants of one problem count as separate problems although they are alike, so intervals are too narrow.',
  },
  afrimgsm: {
    title: 'AfriMGSM',
    measures: 'school mathematics in African languages, exact match',
    forms: [
      {
        name: 'afrimgsm_LANG_prompt_1',
        metrics: extracted,
        sameAnswer: withoutMarks,
        shots: 0,
        rows: afriMgsmRows,
      },
      {
        name: 'afrimgsm_(?:cot_)?LANG_prompt_[1-5]',
        metrics: extracted,
        sameAnswer: withoutMarks,
        shots: 0,
        isApart: true,
        rows: afriMgsmRows,
      },
      {
        name: 'afrimgsm_(?:cot_)?translate_LANG_prompt_[1-5]',
        metrics: extracted,
        sameAnswer: withoutMarks,
        shots: 0,
        isApart: true,
      },
    ],
    spelling: 'iso3',
    languages: spelledBy('iso3', `${iroko}|vai`),
    problems: 250,
    asks: 'answers',
  },
  afrimmlu: {
    title: 'AfriMMLU',
    measures: 'knowledge in African languages, accuracy',
    forms: [
      { name: 'afrimmlu_direct_LANG_prompt_1', metrics: acc, shots: 0, rows: afriMmluRows },
      {
        name: 'afrimmlu_direct_LANG_prompt_[2-5]',
        metrics: acc,
        shots: 0,
        isApart: true,
        rows: afriMmluRows,
      },
      { name: 'afrimmlu_translate_LANG_prompt_[1-5]', metrics: acc, shots: 0, isApart: true },
    ],
    spelling: 'iso3',
    languages: spelledBy('iso3', iroko),
    problems: 500,
    asks: 'choices',
  },
  afrixnli: {
    title: 'AfriXNLI',
    measures: 'inference between sentences in African languages, accuracy',
    forms: [
      { name: 'afrixnli_LANG_prompt_1', metrics: acc, shots: 0, rows: afriXnliRows },
      { name: 'afrixnli_LANG_prompt_[2-5]', metrics: acc, shots: 0, isApart: true, rows: afriXnliRows },
      {
        name: 'afrixnli_(?:en|native|manual)_direct_LANG',
        metrics: acc,
        shots: 0,
        isApart: true,
        rows: afriXnliRows,
      },
      {
        name: 'afrixnli_(?:translate_LANG_prompt_[1-5]|(?:manual_)?translate_LANG)',
        metrics: acc,
        shots: 0,
        isApart: true,
      },
    ],
    spelling: 'iso3',
    languages: spelledBy('iso3', iroko),
    problems: 600,
    asks: 'choices',
  },
  xnli: {
    title: 'XNLI',
    measures: 'inference between sentences, accuracy',
    forms: [{ name: 'xnli_LANG', metrics: acc, shots: 0, rows: xnliRows }],
    languages: spelledBy('code', 'ar|bg|de|el|en|es|fr|hi|ru|sw|th|tr|ur|vi|zh'),
    problems: 2490,
    asks: 'choices',
  },
  'global-mmlu-lite': {
    title: 'Global-MMLU-Lite',
    measures: 'knowledge, in 15 languages translated by people, accuracy',
    forms: [{ name: 'global_mmlu_LANG', metrics: acc, shots: 0, rows: liteRows }],
    languages: spelledBy('code', 'ar|bn|de|en|es|fr|hi|id|it|ja|ko|pt|sw|yo|zh'),
    problems: 400,
    asks: 'choices',
  },
  'mmlu-prox': mmluProX('', 11_759),
  'mmlu-prox-lite': mmluProX('lite_', 588),
  include: {
    title: 'INCLUDE',
    measures: 'examinations of the regions of 44 languages, accuracy',
    forms: [
      { name: 'include_base_44_LANG', metrics: acc, shots: 0, rows: includeRows },
      { name: 'include_base_44_LANG_few_shot_(?:en|og)', metrics: acc, shots: 0, isApart: true },
    ],
    spelling: 'name',
    languages: spelledBy('name', Object.keys(includeDomains).join('|').replace('north_', '')),
    asks: 'choices',
  },
  aime24: aime(24),
  aime25: aime(25),
  gpqa: gpqa('diamond', 198),
  'gpqa-main': gpqa('main', 448),
  humaneval: {
    title: 'HumanEval',
    measures: 'Python programs, pass@1; it runs what models write',
    forms: [
      { name: 'humaneval', metrics: ['pass@1,create_test'], shots: 0 },
      { name: 'humaneval_(?:instruct|plus)', metrics: ['pass@1,create_test'], shots: 0, isApart: true },
    ],
    languages: english,
    problems: 164,
    asks: 'programs',
  },
} as const satisfies Readonly<Record<string, BenchmarkTasks>>;

export type BenchmarkName = keyof typeof declared;

/** Paper's benchmarks (Table 5), perplexity for small models, and benchmarks of later papers. */
export const benchmarks: Readonly<Record<BenchmarkName, BenchmarkTasks>> = declared;

export const isBenchmarkName = (name: string): name is BenchmarkName => Object.hasOwn(benchmarks, name);

export const benchmarkNames: readonly BenchmarkName[] = Object.keys(benchmarks).filter(isBenchmarkName);

export const paperBenchmarks: readonly BenchmarkName[] = benchmarkNames.filter(
  (name) => benchmarks[name].isPaper,
);

/** Returns a benchmark's tasks in a language; empty if it lacks the language. */
export const tasksOf = (
  { forms: [{ name }], spelling, languages, tasksOf: own }: BenchmarkTasks,
  language: EvaluationLanguage,
): readonly string[] => {
  if (!languages.includes(language)) return [];
  return own?.(language) ?? [name.replace('LANG', spelled(language, spelling))];
};

/** INCLUDE names one language differently. */
export const spelled = (language: EvaluationLanguage, spelling: Spelling = 'code'): string =>
  spelling === 'name' && language.name === 'macedonian' ? 'north_macedonian' : language[spelling];

/** Formats a list of columns. Columns that differ only in their last character become `first … last`. */
const shortened = (columns: readonly string[]): string =>
  [...groupBy(columns, (name) => (/[_ \w]([0-9]|_[a-d])$/.test(name) ? name.slice(0, -1) : name)).values()]
    .map((names) => (names.length < 2 ? names[0] : `${names[0]} … ${names.at(-1)}`))
    .join(', ');

/** Returns the file names and columns that `data:` needs for a language. */
export const dataOf = ({ data, forms }: BenchmarkTasks): BenchmarkTasks['data'] => {
  if (data !== undefined) return data;
  const all = forms.flatMap(({ rows }) => rows ?? []);
  if (all.length === 0) return undefined;
  const filesOf = ({ files: [file], splits }: LocalRows) =>
    splits.map((split) => file.replace('SPLIT', split)).join(', ');
  const rowsOf = ({ columns }: LocalRows) => shortened(Object.keys(columns));
  return {
    files: [...new Set(all.map(filesOf))].join('; '),
    rows: [...new Set(all.map(rowsOf))].join('; '),
  };
};
