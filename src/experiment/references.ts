import { nameAndPath } from './model-at.js';
import type { Experiment } from './read-experiment.js';

/** A model that merges are compared with. */
export interface ExperimentReference {
  readonly name: string;
  readonly role: 'base' | 'task' | 'language';
  /** The languages that it is measured in. */
  readonly languages: readonly string[];
  /** The model, as recipes refer to it. */
  readonly model: string;
}

/** Returns the base and every expert, each once; nothing if the experiment has `references: false`. */
export const experimentReferences = ({
  base,
  tasks,
  languages,
  references,
}: Experiment): ExperimentReference[] => {
  if (!references) return [];
  const all = [...languages.keys()];
  const experts = new Map<string, ExperimentReference>();
  for (const [language, of] of languages)
    for (const [name, path] of of) {
      const measured = [...(experts.get(name)?.languages ?? []), language];
      experts.set(name, { name, role: 'language', languages: measured, model: `${name}=${path}` });
    }
  return [
    ...(base === undefined
      ? []
      : [{ name: nameAndPath(base).name, role: 'base' as const, languages: all, model: base }]),
    ...[...tasks].map(([name, path]) => ({
      name,
      role: 'task' as const,
      languages: all,
      model: `${name}=${path}`,
    })),
    ...experts.values(),
  ];
};
