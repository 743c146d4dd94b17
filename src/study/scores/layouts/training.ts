import { groupBy } from '../../../core/base/errors/lookup.js';
import type { TrainedModel } from '../../evaluation/data/trained-models.js';
import type { Board } from '../boards/board.js';
import { numberCell, textCell } from '../boards/cells.js';
import type { Cell, ScoreTable, TableColumn } from '../reading/score-table.js';

// Tables like 3 and 4 of arXiv 2410.01335, for the study's own models.

const common = { derived: [], refusals: [] } as const;

const column = (id: string, label = id, kind: TableColumn['kind'] = 'text'): TableColumn => ({
  id,
  label,
  kind,
});

const whole = (value: number | null | undefined): Cell | null =>
  value === null || value === undefined ? null : numberCell(value, 0);

const text = (value: string | number | undefined): Cell | null =>
  value === undefined ? null : textCell(String(value));

/** Tabulates the data sets that the study's models were trained on. */
export const datasets = ({ experiment: { trained = [] } }: Board): ScoreTable[] => {
  const asked = trained.flatMap(({ run, language, data = [], model }) =>
    data.map((set) => ({ ...set, run, model, language: set.kind === 'language' ? language : null })),
  );
  const sets = groupBy(asked, ({ kind, language, name, hub }) => JSON.stringify([kind, language, name, hub]));
  return [
    {
      ...common,
      id: 'datasets',
      title: 'Training data',
      caption: 'Data sets of the runs that trained these models, as `train init` recorded them.',
      notes: [
        'Rows: the number that a run requests from the data set, or the range over runs. If a set has fewer rows, the run uses all of them, and more rows of its other sets. Licences may have changed, so check each card. An empty licence is unknown.',
      ],
      columns: [
        column('kind'),
        column('language'),
        column('dataset', 'data set'),
        column('hub', 'hub id'),
        column('licence'),
        column('rows', 'rows a run'),
        column('runs', 'runs', 'number'),
        column('models'),
      ],
      rows: [...sets].map(([id, of]) => {
        const [{ kind, language, name, hub, licence }] = of as [(typeof of)[number]];
        const rows = of.map((set) => set.rows);
        const [least, most] = [Math.min(...rows), Math.max(...rows)];
        return {
          id,
          label: name,
          cells: [
            text(kind),
            text(language ?? undefined),
            text(name),
            text(hub),
            text(licence),
            text(least === most ? least : `${least}–${most}`),
            whole(new Set(of.map(({ run }) => run)).size),
            text([...new Set(of.map(({ model }) => model))].join(', ')),
          ],
        };
      }),
    },
  ];
};

const rowColumns = [
  ['learningRate', 'learning rate'],
  ['batchSize', 'batch size'],
  ['sequenceLength', 'sequence length'],
  ['weightDecay', 'weight decay'],
  ['maxGradNorm', 'max grad norm'],
  ['schedule', 'schedule'],
  ['warmup', 'warm-up'],
  ['beta2', 'β₂'],
] as const;

/** Tabulates the hyper-parameters that the study's models were trained with. */
export const training = ({ experiment: { trained = [] } }: Board): ScoreTable[] => [
  {
    ...common,
    id: 'training',
    title: 'Training',
    caption: 'Runs that trained these models, as `train init` recorded them.',
    notes: ['Steps: the step of the checkpoint. Empty cells were not recorded.'],
    columns: [
      ...rowColumns.map(([id, label]) => column(id, label)),
      column('steps', 'steps', 'number'),
      column('seed', 'seed', 'number'),
      column('method'),
      column('trainer'),
    ],
    rows: trained.map((model) => ({
      id: model.model,
      label: model.model,
      cells: [
        ...rowColumns.map(([id]) => text(model.row?.[id])),
        whole(model.step),
        whole(model.seed),
        text(methodOf(model)),
        text(model.trainer),
      ],
    })),
  },
];

const methodOf = ({ method, rank }: TrainedModel): string =>
  rank === undefined ? method : `${method}, rank ${rank}`;
