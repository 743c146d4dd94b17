import { argument, command } from '../framework/command.js';
import { schemaNames } from '../schema.js';

export const schema = command({
  name: 'schema',
  group: 'installation',
  summary: 'print the JSON Schema of recipes or experiments, by which editors complete and check them',
  arguments: { kind: argument('<kind>', 'the kind of file', schemaNames) },
  examples: [
    ['layerloom schema experiment > experiment.schema.json', 'a file to name in the settings of an editor'],
    ['layerloom schema recipe > recipe.schema.json', 'the same of recipes'],
  ],
  // A schema is JSON even without --json.
  run: async ({ kind }) => {
    const { schemaCommand } = await import('../schema.js');
    await schemaCommand(kind);
  },
});
