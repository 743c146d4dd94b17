import { useMemo, useState } from 'preact/hooks';
import { itemAt } from '../../../../core/base/errors/lookup.js';
import { whyTooFew } from '../../../scores/comparing/conclusion.js';
import { pText } from '../../../scores/reading/score-table.js';
import { Choice } from '../charts/section.js';
import { decodeBits } from '../data/bits.js';
import type { DrawnAnswer, PageModel, PageResult, PageTask, ReportData } from '../data/data.js';
import { resultOf, taskAt } from '../data/results.js';
import { signTest } from '../data/sign-test.js';
import { searchIn } from '../data/text-search.js';
import { SearchField, usePages } from './listing.js';

type Outcome = 'both' | 'first' | 'second' | 'neither' | 'missing';

const filters = [
  { value: 'all', label: 'all' },
  { value: 'first', label: 'only the merge is right' },
  { value: 'second', label: 'only the other is right' },
  { value: 'both', label: 'both are right' },
  { value: 'neither', label: 'both are wrong' },
] as const;

const outcomesOf = (a: PageModel, b: PageModel, index: number, { n }: PageTask): Outcome[] | null => {
  const [x, y] = [resultOf(a, index), resultOf(b, index)];
  if (x?.right == null || y?.right == null) return null;
  const [rightOfA, rightOfB] = [decodeBits(x.right, n), decodeBits(y.right, n)];
  const seenBy = (seen: string | null) => (seen === null ? null : decodeBits(seen, n));
  const [seenByA, seenByB] = [seenBy(x.seen), seenBy(y.seen)];
  return rightOfA.map((right, at) => {
    if (seenByA?.[at] === false || seenByB?.[at] === false) return 'missing';
    return right ? (rightOfB[at] ? 'both' : 'first') : rightOfB[at] ? 'second' : 'neither';
  });
};

/** Models to compare with: references, merges of the same pair, and models with texts. */
const isComparable = (model: PageModel, other: PageModel, task: number): boolean => {
  const result = resultOf(other, task);
  if (result?.right == null) return false;
  const isSamePair = other.task === model.task && other.languageExpert === model.languageExpert;
  return other.role !== 'merge' || isSamePair || result.answers !== null;
};

const size = 11;
const across = 50;

const Strip = ({ outcomes, names }: { outcomes: readonly Outcome[]; names: readonly [string, string] }) => {
  const count = (of: Outcome) => outcomes.filter((one) => one === of).length;
  const [first, second] = [count('first'), count('second')];
  const few = whyTooFew(outcomes.length - count('missing'));
  const text = `Right in both ${count('both')}, only ${names[0]} ${first}, only ${names[1]} ${second}, in neither ${count('neither')}`;
  const path = (of: Outcome) =>
    outcomes
      .flatMap((one, at) =>
        one === of ? `M${(at % across) * size} ${Math.floor(at / across) * size}h9v9h-9z` : [],
      )
      .join('');
  return (
    <div class="strip">
      <svg
        viewBox={`0 0 ${across * size} ${Math.ceil(outcomes.length / across) * size}`}
        width={across * size}
        role="img"
        aria-label={`${outcomes.length} problems. ${text}`}
      >
        {(['both', 'first', 'second', 'neither'] as const).map((of) => (
          <path key={of} class={`outcome-${of}`} d={path(of)} />
        ))}
      </svg>
      <p class="key">
        {(
          [
            ['both', 'both right'],
            ['first', `only ${names[0]}`],
            ['second', `only ${names[1]}`],
            ['neither', 'both wrong'],
          ] as const
        ).map(([of, label]) => (
          <span key={of} class="entry">
            <span class={`swatch outcome-${of}`} /> {label} {count(of)}
          </span>
        ))}
        {count('missing') > 0 ? `; not scored by both ${count('missing')}` : ''}
        McNemar, exact: {pText(signTest(first, second))}
        {few === undefined ? '' : `; ${few}`}
      </p>
    </div>
  );
};

const shownAtOnce = 5;

const countRight = (drawn: readonly DrawnAnswer[]): string =>
  drawn.some(([, , right]) => right === null)
    ? `${drawn.length} answers`
    : `${drawn.filter(([, , right]) => right).length} of ${drawn.length} right`;

type AnswerProps = { data: ReportData; model: PageModel; at: number; index: number };

const Answer = ({ data, model, at, index }: AnswerProps) => {
  const result = resultOf(model, index);
  const task = taskAt(data, index);
  const kept = result?.answers?.[at];
  const problem = task.kept[at];
  const right =
    result?.right != null && problem !== undefined && decodeBits(result.right, task.n)[problem.at];
  const judged = result?.right != null;
  const drawn = result?.drawn?.[at] ?? [];
  return (
    <div class={`answer ${judged ? (right ? 'right' : 'wrong') : ''}`}>
      <p class="who">
        {drawn.length > 0 ? (
          <span class="badge">{countRight(drawn)}</span>
        ) : judged ? (
          <span class="badge">{right ? '✓ right' : '✗ wrong'}</span>
        ) : null}{' '}
        {model.name}
      </p>
      {kept == null ? (
        <p class="none">Text not in this page.</p>
      ) : (
        <>
          <p class="given">
            Answer: <b>{data.strings[kept[0]] || '(none found)'}</b>
          </p>
          <pre>{data.strings[kept[1]]}</pre>
        </>
      )}
      {drawn.length === 0 ? null : (
        <details class="drawn">
          <summary>All {drawn.length} answers; the first is above</summary>
          {drawn.map(([answer, response, isRight], index) => (
            <div key={`${index}-${response}`}>
              <p class="given">
                {index + 1}. {isRight === null ? '' : isRight ? '✓ ' : '✗ '}
                <b>{data.strings[answer] || '(none found)'}</b>
              </p>
              <pre>{data.strings[response]}</pre>
            </div>
          ))}
        </details>
      )}
    </div>
  );
};

const isAnswered = ({ right, answers }: PageResult): boolean => right !== null || answers !== null;

type SamplesProps = { data: ReportData; model: PageModel };

export const Samples = ({ data, model }: SamplesProps) => {
  const answered = model.results.filter(isAnswered).map(({ task }) => task);
  return answered.length === 0 ? null : <AnswersOf {...{ data, model, answered }} />;
};

const AnswersOf = ({ data, model, answered }: SamplesProps & { answered: readonly number[] }) => {
  const [task, setTask] = useState(-1);
  const index = answered.includes(task) ? task : itemAt(answered, 0);
  const { kept, n, name } = taskAt(data, index);
  const others = useMemo(
    () => data.models.filter((one) => one !== model && isComparable(model, one, index)),
    [data, model, index],
  );
  const [other, setOther] = useState('');
  const rival =
    others.find(({ name }) => name === other) ??
    others.find(({ name }) => name === model.task) ??
    others.find(({ role }) => role !== 'merge') ??
    others[0];
  const [filter, setFilter] = useState('all');
  const [query, setQuery] = useState('');
  const search = useMemo(() => {
    const results = [model, rival].flatMap((one) => (one === undefined ? [] : (resultOf(one, index) ?? [])));
    return searchIn(
      kept.map(({ question, target }, at) =>
        [
          data.strings[question],
          data.strings[target],
          ...results.flatMap(({ answers, drawn }) =>
            [...(answers?.[at] ?? []), ...(drawn?.[at]?.map(([, response]) => response) ?? [])].map(
              (string) => data.strings[string],
            ),
          ),
        ].join(' '),
      ),
    );
  }, [data, index, model, rival]);
  const outcomes = useMemo(
    () => (rival === undefined ? null : outcomesOf(model, rival, index, taskAt(data, index))),
    [data, model, rival, index],
  );
  const found = (query.trim() === '' ? kept.map((_, at) => at) : search(query)).filter(
    (at) => filter === 'all' || outcomes?.[kept[at]?.at ?? -1] === filter,
  );
  const { shown, buttons, fromFirst } = usePages(found, shownAtOnce, 'problems');
  return (
    <div class="samples">
      <h4>Right and wrong answers</h4>
      <div class="choices controls">
        {answered.length < 2 ? null : (
          <Choice
            label="Task"
            value={String(index)}
            options={answered.map((at) => ({ value: String(at), label: taskAt(data, at).name }))}
            choose={fromFirst((value) => setTask(Number(value)))}
          />
        )}
        <Choice
          label="Beside"
          value={rival?.name ?? ''}
          options={others.map((one) => one.name)}
          choose={fromFirst(setOther)}
        />
        {kept.length === 0 ? null : (
          <>
            <Choice label="Show" value={filter} options={filters} choose={fromFirst(setFilter)} />
            <SearchField
              label="Search"
              hint="in questions and answers"
              value={query}
              set={fromFirst(setQuery)}
            />
          </>
        )}
      </div>
      {outcomes === null || rival === undefined ? null : (
        <Strip outcomes={outcomes} names={[model.name, rival.name]} />
      )}
      {kept.length === 0 ? null : (
        <p class="none" role="status">
          {found.length} of {kept.length} problems with texts; {name} has {n}.
        </p>
      )}
      {shown.map((at) => {
        const problem = kept[at];
        return problem === undefined ? null : (
          <article key={problem.id} class="sample">
            <p class="question">
              <span class="number">Problem {problem.id}</span> {data.strings[problem.question]}
            </p>
            <p class="expected">
              Expected: <b>{data.strings[problem.target]}</b>
            </p>
            <div class="answers">
              <Answer {...{ data, model, at, index }} />
              {rival === undefined ? null : <Answer {...{ data, at, index }} model={rival} />}
            </div>
          </article>
        );
      })}
      {buttons}
    </div>
  );
};
