import type { Board } from '../boards/board.js';
import { modelCell } from '../boards/cells.js';
import { scaleOf } from '../reading/metrics.js';
import { scoreOf } from '../reading/model-score.js';
import { type ScoreTable, tableOf } from '../reading/score-table.js';

export const models = (board: Board): ScoreTable[] => {
  const { experiment } = board;
  const tasks = [
    ...new Set([
      ...[...experiment.tasks.values()].flat(),
      ...experiment.models.flatMap(({ results }) => [...results.keys()]),
    ]),
  ].flatMap((task) => {
    const metric = board.metric(task);
    return metric === undefined ? [] : [{ task, metric }];
  });
  return [
    tableOf({
      id: 'models',
      title: 'All models',
      caption: 'Score of every model in every task, with the standard error over problems.',
      notes: tasks.map(({ task, metric }) => `${task}: ${metric}.`),
      columns: tasks.map(({ task }) => ({ id: task, label: task, kind: 'number' as const })),
      rows: experiment.models.map((model) => ({
        id: model.name,
        label: model.name,
        cells: tasks.map(({ task, metric }) => {
          const score = scoreOf(model, task, metric);
          return score === undefined ? null : modelCell(score, scaleOf(metric));
        }),
      })),
    }),
  ];
};
