import { capitalised, counted, formatBytes, formatSeconds } from '../../../core/base/format.js';
import { runStates } from '../../training/run-state.js';
import type { Amount, StudyState } from '../study/study-state.js';
import { Lines, Section, Table } from './charts/section.js';
import { Shell } from './shell.js';

const mostRuns = 60;

type StudyPageProps = {
  data: { readonly state: StudyState; readonly everySeconds: number | undefined };
};

/** Page of a running study. It has no script, because the watch rewrites the page repeatedly. */
export const StudyPage = ({ data: { state, everySeconds } }: StudyPageProps) => (
  <Shell
    isStill={true}
    kicker={everySeconds === undefined ? 'A study, as it was last seen' : 'A study as it runs'}
    title={state.title}
    about={
      <>
        <p class="sentence">{sentenceOf(state)}</p>
        <p class="none">{state.directory}</p>
      </>
    }
    footer={
      everySeconds === undefined
        ? `As of ${timeOf(state.at)}. The watch has ended, so this page no longer changes.`
        : `As of ${timeOf(state.at)}. Updated every ${everySeconds} s; the page reloads itself. If this time does not change, the watch has ended.`
    }
  >
    {state.unread.length === 0 ? null : (
      <Section
        id="unread"
        title="Not readable at the moment"
        lead="Another process may be writing these files. The figures are from the last update."
      >
        <Lines of={state.unread} kind="notes" />
      </Section>
    )}
    {state.training === null ? null : <Training runs={state.training} />}
    {state.merges?.total === 0 ? null : <Merges merges={state.merges} />}
    {state.scores === null ? null : <Scores scores={state.scores} />}
    <Section id="errors" title="Last errors">
      {state.errors.length === 0 ? (
        <p class="none">None.</p>
      ) : (
        <ul class="errors">
          {state.errors.map(({ at, what, message }) => (
            <li key={`${at} ${what}`}>
              <b>{what}</b>
              {at === null ? null : <span class="none"> {timeOf(at)}</span>}
              <br />
              {message}
            </li>
          ))}
        </ul>
      )}
    </Section>
  </Shell>
);

const Merges = ({ merges }: { merges: StudyState['merges'] }) => (
  <Section id="merges" title="Merges">
    {merges === null ? (
      <p class="none">No batch has started in this directory.</p>
    ) : (
      <>
        <Bar label="merges made" amount={merges} />
        <p>
          {merges.bytes === null
            ? ''
            : `${formatBytes(merges.bytes.written)} of ${formatBytes(merges.bytes.total)} written. `}
          {merges.isWorking ? 'A batch is running.' : 'No batch is running.'}
        </p>
      </>
    )}
  </Section>
);

const timeOf = (iso: string): string => iso.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC');

const sentenceOf = ({ training, merges, scores }: StudyState): string => {
  const parts = [
    ...(training === null
      ? []
      : [
          `${training.filter(({ state }) => state === 'finished').length} of ${training.length} training runs finished`,
        ]),
    ...(merges === null
      ? ['no merges yet']
      : merges.total === 0
        ? []
        : [`${merges.done} of ${counted(merges.total, 'merge')} made`]),
    ...(scores === null ? [] : [`${scores.done} of ${scores.total} scores made`]),
  ];
  return `${capitalised(parts.join(', '))}. ${leftOf(merges, scores)}`;
};

const leftOf = (merges: StudyState['merges'], scores: StudyState['scores']): string => {
  const [toMerge, toScore] = [merges?.secondsLeft ?? null, scores === null ? 0 : scores.secondsLeft];
  if (toMerge === null || toScore === null) return 'The time left is unknown.';
  return toMerge + toScore === 0
    ? ''
    : `About ${formatSeconds(toMerge + toScore)} left to ${merges?.total === 0 ? '' : 'merge and '}score.`;
};

const Bar = ({ label, amount: { done, failed, total } }: { label: string; amount: Amount }) => (
  <div class="amount">
    <div
      class="bar"
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={total}
      aria-valuenow={done}
    >
      <span class="made" style={`width: ${shareOf(done, total)}%`} />
      <span class="failed" style={`width: ${shareOf(failed, total)}%`} />
    </div>
    <p>
      {done} of {total} {label}
      {failed === 0 ? '' : `, ${failed} failed`}
    </p>
  </div>
);

const shareOf = (part: number, total: number): number => (total === 0 ? 0 : (100 * part) / total);

const Training = ({ runs }: { runs: NonNullable<StudyState['training']> }) => {
  const finished = runs.filter(({ state }) => state === 'finished');
  const others = runs.filter(({ state }) => state !== 'finished');
  const bad = others.filter(({ state }) => state === 'diverged' || state === 'foreign');
  const shown = [...bad, ...others.filter((run) => !bad.includes(run)), ...finished].slice(0, mostRuns);
  return (
    <Section id="training" title="Training runs">
      <Bar label="runs finished" amount={{ done: finished.length, failed: bad.length, total: runs.length }} />
      <Table
        label="State of each run"
        heads={['run', 'state', 'checkpoints', 'loss']}
        rows={shown.map(({ name, state, models, expected, loss }) => [
          name,
          runStates[state],
          `${models.filter(({ problem }) => problem === undefined).length} of ${expected}`,
          loss === null ? '–' : `${loss.first.toFixed(3)} → ${loss.last.toFixed(3)}`,
        ])}
      />
      {runs.length > shown.length ? (
        <p class="none">{runs.length - shown.length} more are not shown.</p>
      ) : null}
      <Lines
        of={shown.flatMap(({ name, problem }) => (problem === undefined ? [] : [`${name}: ${problem}`]))}
        kind="notes"
      />
    </Section>
  );
};

const Scores = ({ scores }: { scores: NonNullable<StudyState['scores']> }) => (
  <Section id="scores" title="Scores">
    <Bar label="scores made" amount={scores} />
    {scores.running.length === 0 ? (
      <p>According to the logs, no model is being scored.</p>
    ) : (
      <Lines
        of={scores.running.map(({ model, done, total }) => `${model}: ${done} of ${total} requests`)}
        kind="notes"
      />
    )}
    <Table
      label="Scores by task"
      heads={['task', 'made', 'failed', 'of']}
      rows={scores.tasks.map(({ task, done, failed, total }) => [task, done, failed, total])}
    />
  </Section>
);
