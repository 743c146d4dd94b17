import { join } from 'node:path';
import ts from 'typescript';
import { stringify } from 'yaml';
import { z } from 'zod';
import { methods } from '../../dist/core/methods/index.js';
import { toSnakeCase } from '../../dist/core/methods/recipe/document/case.js';
import { parseRecipe } from '../../dist/core/methods/recipe/recipe.js';
import { root } from '../pages.mjs';
import { code, page, table, text } from './markdown.mjs';

// The parameters' meaning is in the docstrings of their types, which the compiler checks against the schemas;
// the reference reads both.

const program = () => {
  const config = ts.getParsedCommandLineOfConfigFile(
    join(root, 'tsconfig.json'),
    {},
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: (diagnostic) => {
        throw new Error(ts.flattenDiagnosticMessageText(diagnostic.messageText, '\n'));
      },
    },
  );
  return ts.createProgram(config.fileNames, config.options);
};

/** A docstring in Markdown. */
const docOf = (symbol, checker) => ts.displayPartsToString(symbol.getDocumentationComment(checker)).trim();

/** Exported names of a source file. */
const exportsOf = (checker, source) =>
  new Map(
    checker.getExportsOfModule(checker.getSymbolAtLocation(source)).map((symbol) => [symbol.name, symbol]),
  );

const settingPattern = /SettingInput<([^>]+)>/;

/** Types that have a word in recipes. */
const words = {
  ModelInput: 'a model',
  'ModelInput[]': 'models',
  'ModelEntry<Own>[]': 'models',
  'SliceEntry<Parameters, PerModel>[]': 'slices',
  DtypeName: 'a dtype',
};

/** A type as the reader of a recipe would write its values. */
const inYaml = (type) => {
  const plain = type
    .replace(/\s*\|\s*undefined$/, '')
    .replace(/\s+/g, ' ')
    .replaceAll('readonly ', '');
  return words[plain] ?? code(plain);
};

/** The values of a parameter: of its declaration, where gradients and filters are one word. */
const valuesOf = (symbol, checker) => {
  const { type } = symbol.valueDeclaration ?? symbol.declarations[0];
  const declared = type.getText();
  const setting = settingPattern.exec(declared);
  if (setting === null) return { values: inYaml(declared), varies: false };
  const argument = (ts.isUnionTypeNode(type) ? type.types[0] : type).typeArguments[0];
  const expanded = checker.typeToString(
    checker.getTypeFromTypeNode(argument),
    undefined,
    ts.TypeFormatFlags.InTypeAlias,
  );
  return { values: code(expanded), varies: true };
};

/** Parameters of a method by name, from the type of its recipes. */
const parametersOf = (type, checker) => {
  const found = new Map();
  for (const member of type.isUnion() ? type.types : [type])
    for (const symbol of checker.getPropertiesOfType(member)) {
      const documented = docOf(symbol, checker);
      if (documented !== '' && !found.has(symbol.name))
        found.set(symbol.name, { meaning: documented, ...valuesOf(symbol, checker) });
    }
  return found;
};

/** The schema of a method's recipes, and the parameters that each model may have of its own. */
const shapeOf = ({ schema }) => {
  const { properties } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  const { model, ...own } = properties.models?.items.properties ?? {};
  const choices = Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [name, property.enum]),
  );
  return { names: Object.keys(properties), own: Object.keys(own), choices };
};

const rowsOf = (method, documented) => {
  const { names, own, choices } = shapeOf(method);
  return names.map((name) => {
    const parameter = documented.get(name);
    if (parameter === undefined) throw new Error(`${method.name}: its parameter ${name} has no docstring`);
    const { values, varies, meaning } = parameter;
    const notes = [
      ...(own.includes(name) ? ['Each model may have its own.'] : []),
      ...(varies ? ['May be a gradient or have filters.'] : []),
    ];
    const listed = choices[name]?.map((choice) => `'${choice}'`).join(' | ');
    return [
      code(toSnakeCase(name)),
      listed === undefined ? values : code(listed),
      [meaning, ...notes].join(' '),
    ];
  });
};

const examples = {
  pair: { task: './math-1', language: './swh-1' },
  list: { models: ['./math-1', './swh-1'] },
  one: { model: './math-1' },
};

/** Values of parameters that have no default. */
const required = { t: 0.5, weights: [1, 1] };

/** Values that a recipe of a method needs beside its models. */
const settingsOf = {
  mixture: { gateMode: 'random' },
  transplant: { donor: './swh-1' },
  fisher: { importances: ['math-1.fisher.safetensors', 'swh-1.fisher.safetensors'] },
  regmean: { grams: ['math-1.grams.safetensors', 'swh-1.grams.safetensors'] },
};

/** Models of the methods whose number of them the type of their recipes does not say. */
const modelsOf = {
  slerp: { base: './math-1', models: ['./swh-1'] },
  nearswap: { base: './math-1', models: ['./swh-1'] },
  arcee_fusion: { base: './math-1', models: ['./swh-1'] },
  passthrough: { models: ['./math-1'] },
};

/** A recipe with the method's defaults, which is parsed as `layerloom merge` does. */
const exampleOf = (method) => {
  const { names, own } = shapeOf(method);
  const needed = ['t', ...(own.includes('weight') ? ['weights'] : [])].filter((name) => names.includes(name));
  const recipe = {
    method: method.name,
    ...(modelsOf[method.name] ?? {
      ...(method.takes.base === 'required' ? { base: './llama-3.1-8b' } : {}),
      ...examples[method.takes.models],
    }),
    ...Object.fromEntries(needed.map((name) => [name, required[name]])),
    ...settingsOf[method.name],
  };
  parseRecipe(recipe);
  const file = `${method.name.replaceAll('_', '-')}.yaml`;
  return `\`\`\`yaml\n# ${file}\n${stringify(Object.fromEntries(Object.entries(recipe).map(([key, value]) => [toSnakeCase(key), value])))}\`\`\``;
};

/** The docstring of the constant that a method is. */
const summaries = (checker, source) => {
  const found = new Map();
  const visit = (node) => {
    if (ts.isVariableDeclaration(node) && node.name.getText() === 'builtIn') {
      const literal = ts.isSatisfiesExpression(node.initializer)
        ? node.initializer.expression
        : node.initializer;
      for (const property of literal.properties) {
        const symbol = checker.getSymbolAtLocation(property.initializer.body);
        found.set(property.name.getText(), docOf(checker.getAliasedSymbol(symbol), checker));
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
};

const baseText = { required: 'a base', optional: 'a base if wanted', none: 'no base' };
const modelsText = { pair: 'a task and a language expert', list: 'models', one: 'one model' };

/** One page of all methods, with what a recipe of each may have. */
export const recipePages = () => {
  const compiled = program();
  const checker = compiled.getTypeChecker();
  const fileOf = (name) => compiled.getSourceFile(join(root, 'src', name));
  const exported = exportsOf(checker, fileOf('index.ts'));
  const typeOf = (name) => {
    const symbol = exported.get(name);
    return checker.getDeclaredTypeOfSymbol(
      symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol,
    );
  };
  const byMethod = typeOf('RecipesByMethod');
  const summaryOf = summaries(checker, fileOf('core/methods/index.ts'));
  const common = parametersOf(typeOf('CommonParameters'), checker);

  const sections = [...methods.values()].flatMap((method) => {
    const summary = summaryOf.get(method.name);
    if (!summary) throw new Error(`${method.name}: the method has no docstring`);
    const type = checker.getTypeOfSymbol(byMethod.getProperty(method.name));
    return [
      `## ${method.title}: \`${method.name}\``,
      text(summary),
      `Takes ${modelsText[method.takes.models]} and ${baseText[method.takes.base]}.`,
      exampleOf(method),
      table(['parameter', 'values', 'meaning'], rowsOf(method, parametersOf(type, checker))),
    ];
  });
  return {
    pages: {
      'recipes.md': page([
        '# Recipes',
        'Every method and the parameters of its recipes, as `layerloom merge` reads them. [Methods](../../docs/methods.md) explains gradients, filters, slices and nested recipes.',
        '## Parameters of every recipe',
        table(
          ['parameter', 'values', 'meaning'],
          [...common].map(([name, { values, meaning }]) => [code(toSnakeCase(name)), values, meaning]),
        ),
        ...sections,
      ]),
    },
    sidebar: { text: 'Recipes', link: '/reference/recipes' },
  };
};
