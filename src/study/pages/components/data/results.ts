import type { PageModel, PageResult, PageTask, ReportData } from './data.js';

export const resultOf = ({ results }: PageModel, task: number): PageResult | undefined =>
  results.find((result) => result.task === task);

/** Returns indices of the tasks that score a language's merges, the headline task first. */
export const tasksOf = ({ tasks }: ReportData, language: string): number[] =>
  tasks.flatMap(({ languages }, index) => (languages.includes(language) ? [index] : []));

/** Returns the task that scores a model: its language's first task with a result. */
export const headlineTask = (data: ReportData, model: PageModel): number | undefined =>
  (model.language === null || model.language === 'all' ? data.languages : [model.language])
    .flatMap((language) => tasksOf(data, language))
    .find((task) => resultOf(model, task) !== undefined);

export const hasScores = ({ models }: ReportData): boolean =>
  models.some(({ results }) => results.length > 0);

export const taskAt = ({ tasks }: ReportData, index: number): PageTask => {
  const task = tasks[index];
  if (task === undefined) throw new RangeError(`there is no task ${index}`);
  return task;
};

export const linkTo = (model: string): string => `#merge=${encodeURIComponent(model)}`;
