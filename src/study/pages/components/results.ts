import type { PageModel, PageResult, PageTask, ReportData } from './data.js';

/** Returns a model's result in a task, by the task's index. */
export const resultOf = ({ results }: PageModel, task: number): PageResult | undefined =>
  results.find((result) => result.task === task);

/** Returns the indices of the tasks that a language's merges are judged by, the first being its headline. */
export const tasksOf = ({ tasks }: ReportData, language: string): number[] =>
  tasks.flatMap(({ languages }, index) => (languages.includes(language) ? [index] : []));

/** Returns the task that a model is judged by: its language's first one in which it has a result. */
export const headlineTask = (data: ReportData, model: PageModel): number | undefined =>
  (model.language === null || model.language === 'all' ? data.languages : [model.language])
    .flatMap((language) => tasksOf(data, language))
    .find((task) => resultOf(model, task) !== undefined);

/** True if merges of the experiment have scores. */
export const hasScores = ({ models }: ReportData): boolean =>
  models.some(({ results }) => results.length > 0);

/** The languages, as words for a heading. */
export const named = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

/** Returns the task at an index that results refer to. */
export const taskAt = ({ tasks }: ReportData, index: number): PageTask => {
  const task = tasks[index];
  if (task === undefined) throw new RangeError(`there is no task ${index}`);
  return task;
};

/** Returns the address of a model in the page. */
export const linkTo = (model: string): string => `#merge=${encodeURIComponent(model)}`;
