import { commandGroups } from '../../dist/cli/framework/help.js';
import { buildProgram } from '../../dist/cli/program.js';
import { code, page, table } from './markdown.mjs';

const usageOf = (path, command) => {
  const parts = command.registeredArguments.map((argument) => {
    const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
    return argument.required ? `<${name}>` : `[${name}]`;
  });
  return ['layerloom', ...path, ...(command.options.length > 0 ? ['[options]'] : []), ...parts].join(' ');
};

const meaningOf = ({ description, mandatory, argChoices, defaultValue }) =>
  [
    mandatory ? '**Required.**' : '',
    sentence(description),
    argChoices === undefined ? '' : `One of ${argChoices.map(code).join(', ')}.`,
    defaultValue === undefined ? '' : `Default: ${code(String(defaultValue))}.`,
  ]
    .filter((part) => part !== '')
    .join(' ');

const argumentTable = ({ registeredArguments }) =>
  registeredArguments.length === 0
    ? []
    : [
        table(
          ['argument', 'meaning'],
          registeredArguments.map((argument) => [
            code(`${argument.name()}${argument.variadic ? '...' : ''}`),
            meaningOf({
              description: argument.description,
              mandatory: argument.required,
              argChoices: argument.argChoices,
            }),
          ]),
        ),
      ];

/** Options by the headings that the command's help gives them, in its order. */
const optionTables = (command) => {
  const shown = command.createHelp().visibleOptions(command);
  const headings = [...new Set(shown.map(({ helpGroupHeading }) => helpGroupHeading))];
  return headings.flatMap((heading) => [
    ...(heading === undefined ? [] : [`**${heading.replace(/:$/, '')}**`]),
    table(
      ['option', 'meaning'],
      shown
        .filter(({ helpGroupHeading }) => helpGroupHeading === heading)
        .map((option) => [code(option.flags), meaningOf(option)]),
    ),
  ]);
};

/** The text that help prints after the options, such as examples. */
const afterHelp = (command) => {
  let text = '';
  const output = command.configureOutput();
  command.configureOutput({ ...output, writeOut: (part) => (text += part), getOutHasColors: () => false });
  command.outputHelp();
  command.configureOutput(output);
  const after = text.slice(command.helpInformation().length).trim();
  return after === '' ? [] : after.split(/\n\n(?=\S)/).flatMap(section);
};

const section = (text) => {
  const [heading, ...lines] = text.split('\n');
  return lines.length === 0
    ? [text]
    : [
        `**${heading.replace(/:$/, '')}**`,
        `\`\`\`console\n${lines.map((line) => line.replace(/^ {2}/, '')).join('\n')}\n\`\`\``,
      ];
};

const bodyOf = (path, command, level) => [
  `${'#'.repeat(level)} layerloom ${path.join(' ')}`,
  sentence(command.description()),
  ...(command.commands.length === 0
    ? [
        `\`\`\`console\n$ ${usageOf(path, command)}\n\`\`\``,
        ...argumentTable(command),
        ...optionTables(command),
      ]
    : []),
  ...afterHelp(command),
  ...visibleCommands(command).flatMap((child) => bodyOf([...path, child.name()], child, level + 1)),
];

const visibleCommands = (command) =>
  command
    .createHelp()
    .visibleCommands(command)
    .filter((child) => child.name() !== 'help');

const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`;

/** Pages of the commands, from the definitions that parse them: one a command, and a list of all. */
export const commandPages = () => {
  const program = buildProgram();
  const commands = visibleCommands(program);
  const headingOf = (command) => (command.helpGroup() ?? '').replace(/:$/, '');
  const order = [...Object.values(commandGroups).map((group) => group.replace(/:$/, '')), ''];
  const headings = [...new Set(commands.map(headingOf))].sort((a, b) => order.indexOf(a) - order.indexOf(b));
  const list = headings.flatMap((heading) => [
    ...(heading === '' ? [] : [`## ${heading}`]),
    table(
      ['command', 'purpose'],
      commands
        .filter((command) => headingOf(command) === heading)
        .map((command) => [`[\`layerloom ${command.name()}\`](${command.name()}.md)`, command.description()]),
    ),
  ]);
  return {
    pages: {
      'commands/index.md': page([
        '# Commands',
        sentence(program.description()),
        ...list,
        ...afterHelp(program),
      ]),
      ...Object.fromEntries(
        commands.map((command) => [
          `commands/${command.name()}.md`,
          page(bodyOf([command.name()], command, 1)),
        ]),
      ),
    },
    sidebar: {
      text: 'Commands',
      link: '/reference/commands/',
      collapsed: true,
      items: commands.map((command) => ({
        text: command.name(),
        link: `/reference/commands/${command.name()}`,
      })),
    },
  };
};
