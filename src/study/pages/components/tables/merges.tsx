import { useEffect, useMemo, useState } from 'preact/hooks';
import { LayerStack } from '../charts/layers.js';
import { Choice, Section, Table } from '../charts/section.js';
import type { PageModel, ReportData } from '../data/data.js';
import { showCost, showScore } from '../data/numbers.js';
import { hasScores, headlineTask, linkTo, resultOf, taskAt } from '../data/results.js';
import { yamlOf } from '../data/yaml.js';
import { SearchField, usePages, wordsOf } from './listing.js';
import { Samples } from './samples.js';

const shownAtOnce = 18;

type Order = 'score' | 'name';

const partsOf = ({ name, role, variant }: PageModel): [string, string] =>
  variant !== null && name.endsWith(`/${variant}`)
    ? [name.slice(0, -variant.length - 1), variant]
    : [role === 'merge' ? '' : role, name];

const recipeOf = ({ method, task, languageExpert, configuration }: PageModel): string =>
  yamlOf({
    ...(method === null ? {} : { method }),
    ...(task === null ? {} : { task }),
    ...(languageExpert === null ? {} : { language: languageExpert }),
    ...configuration,
  });

const Detail = ({ data, model }: { data: ReportData; model: PageModel }) => (
  <article class="detail" id="detail" aria-labelledby="detail-title">
    <h3 id="detail-title">{model.name}</h3>
    <p class="none">
      {[model.method, model.state, model.path].filter(Boolean).join(' · ')}
      {model.error === null ? null : <strong> {model.error}</strong>}
    </p>
    <div class="columns">
      {model.role === 'merge' ? (
        <div>
          <h4>Layers</h4>
          <LayerStack model={model} id="stack" />
        </div>
      ) : null}
      <div>
        {model.role === 'merge' ? (
          <>
            <h4>Recipe</h4>
            <pre class="recipe">{recipeOf(model)}</pre>
          </>
        ) : null}
        {model.results.length === 0 ? null : (
          <>
            <h4>Scores</h4>
            <Table
              label="Scores of this model"
              heads={['Task', 'Score']}
              rows={model.results.map(({ task: index, n, value, stderr }) => {
                const task = taskAt(data, index);
                const metric = (
                  <small class="metric">
                    {task.metric}, n = {n}
                  </small>
                );
                const error =
                  stderr === null ? null : <small class="error">±{showScore(stderr, task)}</small>;
                return [
                  [task.name, metric],
                  [showScore(value, task), error],
                ];
              })}
            />
          </>
        )}
        {data.costs.some(({ key }) => model.cost[key] !== undefined) ? (
          <dl class="costs">
            {data.costs.map(({ key, label, unit }) => {
              const value = model.cost[key];
              return value === undefined ? null : (
                <div key={key}>
                  <dt>{label}</dt>
                  <dd>{showCost(value, unit)}</dd>
                </div>
              );
            })}
          </dl>
        ) : null}
      </div>
    </div>
    <Samples key={model.name} data={data} model={model} />
  </article>
);

export const Merges = ({ data }: { data: ReportData }) => {
  const scored = hasScores(data);
  const [query, setQuery] = useState('');
  const [language, setLanguage] = useState(
    scored && data.languages.length > 1 ? (data.languages[0] ?? '') : '',
  );
  const [order, setOrder] = useState<Order>(scored ? 'score' : 'name');
  const ranked = useMemo(
    () =>
      data.models.map((model) => {
        const task = headlineTask(data, model);
        const result = task === undefined ? undefined : resultOf(model, task);
        return { model, task: task === undefined ? null : taskAt(data, task), result };
      }),
    [data],
  );
  const usual = ranked.find(({ model }) => model.role === 'merge' && model.variant === 'default');
  const [chosen, choose] = useState(
    (usual ?? ranked.find(({ model }) => model.role === 'merge') ?? ranked[0])?.model.name ?? '',
  );
  // Follows links to merges, in this page or in a shared address.
  useEffect(() => {
    const follow = () => {
      const found = data.models.find(({ name }) => location.hash === linkTo(name));
      if (found === undefined) return;
      choose(found.name);
      document.getElementById('merges')?.scrollIntoView();
    };
    follow();
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, [data]);
  const found = useMemo(() => {
    const isWanted = wordsOf(query);
    const some = ranked.filter(
      ({ model }) =>
        (language === '' ||
          model.language === language ||
          (model.language === null && model.languages.includes(language))) &&
        isWanted(`${model.name} ${model.method} ${model.role}`),
    );
    if (order === 'name') return some;
    const worst = Number.NEGATIVE_INFINITY;
    const height = ({ result, task }: (typeof ranked)[number]) =>
      result?.value == null ? worst : task?.higherIsBetter === false ? -result.value : result.value;
    return [...some].sort((a, b) => height(b) - height(a) || 0);
  }, [ranked, query, language, order]);
  const listing = usePages(found, shownAtOnce, 'models');
  const shown = data.models.find(({ name }) => name === chosen);
  return (
    <Section
      id="merges"
      title="Merges and models"
      lead="Choose one to see its layers, its recipe, its scores and its answers."
    >
      <div class="choices controls">
        <SearchField
          label="Find"
          hint="name, method or role"
          value={query}
          set={listing.fromFirst(setQuery)}
        />
        <Choice
          label="Language"
          value={language}
          options={[{ value: '', label: 'all' }, ...data.languages]}
          choose={listing.fromFirst(setLanguage)}
        />
        {scored ? (
          <Choice
            label="Order"
            value={order}
            options={[
              { value: 'score', label: 'by score' },
              { value: 'name', label: 'as in the experiment' },
            ]}
            choose={(value) => setOrder(value === 'name' ? 'name' : 'score')}
          />
        ) : null}
        <output>
          {found.length} of {data.models.length}
        </output>
      </div>
      <div class="browser">
        <div class="listing">
          <ul class="models controls" aria-label="Models">
            {listing.shown.map(({ model, task, result }) => (
              <li key={model.name}>
                <button
                  type="button"
                  aria-pressed={model.name === chosen}
                  aria-controls="detail"
                  onClick={() => choose(model.name)}
                >
                  <span class="name">
                    {partsOf(model)[1]} <small>{partsOf(model)[0]}</small>
                  </span>
                  <span class="score">
                    {result === undefined || task === null ? '' : showScore(result.value, task)}
                  </span>
                </button>
              </li>
            ))}
          </ul>
          {listing.buttons}
        </div>
        {shown === undefined ? null : <Detail data={data} model={shown} />}
      </div>
    </Section>
  );
};
