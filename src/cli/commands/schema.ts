import { argument, command } from '../framework/command.js';
import { schemaNames } from '../schema.js';

export const schema = command({
  name: 'schema',
  group: 'installation',
  summary: 'print the JSON Schema of recipes or experiments, for completion and checks in editors',
  arguments: { kind: argument('<kind>', 'the kind of file', schemaNames) },
  examples: [
    ['layerloom schema experiment > experiment.schema.json', 'a file for the settings of your editor'],
    ['layerloom schema recipe > recipe.schema.json', 'the same for recipes'],
  ],
  run: async ({ kind }) => {
    const { schemaCommand } = await import('../schema.js');
    await schemaCommand(kind);
  },
});
