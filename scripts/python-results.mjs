// @ts-check
/**
 * Writes `python/layerloom/results.py`: the types in src/cli/printed.ts as classes, found by the compiler's
 * type checker.
 */
import { fileURLToPath } from 'node:url';
import { API, SymbolFlags, TypeFlags } from 'typescript/unstable/sync';

/** @typedef {import('typescript/unstable/sync').Type} Type */
/** @typedef {import('typescript/unstable/sync').Checker} Checker */

const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * Names that a dictionary or Python itself has. Such attributes end in `_`, as in
 * python/layerloom/_result.py.
 */
const taken =
  /^(clear|copy|fromkeys|get|items|keys|pop|popitem|setdefault|update|values|as|class|def|del|for|from|global|import|in|is|lambda|not|or|pass|with)$/;

/** Numbers that may have a fraction, by key or by class and key; all others are counts. */
const fractions = new Set(
  [
    'alpha chance cosine difference energy error fractionAbove interval inverseMav max mean meanMav norm otherHalf p',
    'relative rms rowsAboveInBoth scale seconds secondsLeft secondsPerProblem share shared signAgreement',
    'singularValues stderr threshold topShare value AnalysisResultShares.bottom AnalysisResultShares.experts',
    'AnalysisResultShares.layers AnalysisResultShares.middle AnalysisResultShares.outside AnalysisResultShares.top',
    'ExtractionResult.kept ExtractionResult.lost HeldOutComparison.choice HeldOutComparison.default',
    'ProposedSwap.common ProposedSwapKept.language ProposedSwapKept.task RunStatusLoss.first RunStatusLoss.last',
  ].flatMap((line) => line.split(' ')),
);

/** Returns the attribute of a key: `peak_memory` for `peakMemory`. @param {string} key */
const attributeOf = (key) => {
  const name = key.replace(/(?<=[a-z0-9])[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
  return taken.test(name) ? `${name}_` : name;
};

/** @param {string} name */
const capitalised = (name) => name.charAt(0).toUpperCase() + name.slice(1);

/** @param {string} name a key, or words with hyphens */
const classWord = (name) => name.split(/\W+/).map(capitalised).join('');

/** @param {readonly string[]} words types in any order; literals become one */
const unionText = (words) => {
  const literals = words.flatMap((word) => /^Literal\[(.*)\]$/.exec(word)?.[1] ?? []);
  const both = literals.includes('True') && literals.includes('False');
  const rest = literals.filter((literal) => !both || !/^(True|False)$/.test(literal));
  return [
    ...(both ? ['bool'] : []),
    ...(rest.length === 0 ? [] : [`Literal[${[...new Set(rest)].toSorted().join(', ')}]`]),
    ...[...new Set(words)].filter((word) => !/^(Literal\[|None$)/.test(word)).toSorted(),
    ...(words.includes('None') ? ['None'] : []),
  ].join(' | ');
};

/**
 * A method whose result's type depends on the key, for type checkers only.
 *
 * @param {string} name
 * @param {readonly string[]} cases parameters and result for each key
 * @param {string} all the same for any key
 */
const methodOf = (name, cases, all) => {
  const line = (/** @type {string} */ text) => `        def ${name}(self, ${text}: ...\n`;
  // An overload needs at least two cases.
  return cases.length < 2
    ? cases.map(line)
    : [...cases.map((text) => `        @overload\n${line(text)}`), line(all)];
};

/** Translates types of TypeScript to Python, with the classes that they need. */
class Translation {
  /** Texts of the classes, by name. @type {Map<string, string>} */
  classes = new Map();
  /** Class names, by type id. @type {Map<number, string>} */
  names = new Map();

  /** @param {Checker} checker */
  constructor(checker) {
    this.checker = checker;
  }

  /** @param {Type | undefined} type @param {string} place the name for an unnamed type @returns {string} */
  typeOf(type, place) {
    if (type === undefined) throw new Error(`${place} has no type`);
    const { checker } = this;
    if (type.isUnionType()) return this.unionOf(type, place);
    if (type.isLiteralType()) {
      const { value } = type;
      return `Literal[${typeof value === 'boolean' ? capitalised(String(value)) : JSON.stringify(value)}]`;
    }
    if (type.flags & (TypeFlags.String | TypeFlags.TemplateLiteral)) return 'str';
    if (type.flags & TypeFlags.Number) return 'int';
    if (type.flags & TypeFlags.Null) return 'None';
    if (type.flags & (TypeFlags.Unknown | TypeFlags.Any)) return 'Any';
    if (type.isTypeReference() && (checker.isArrayType(type) || checker.isTupleType(type))) {
      const elements = checker.getTypeArguments(type).map((element) => this.typeOf(element, place));
      return `list[${unionText(elements)}]`;
    }
    const [index] = checker.getIndexInfosOfType(type);
    if (index !== undefined) return `dict[str, ${this.typeOf(index.valueType, place)}]`;
    if (type.isObjectType() || type.isIntersectionType()) return this.classOf(type, place);
    throw new Error(`${place}: ${checker.typeToString(type)} is no type of JSON`);
  }

  /** @param {import('typescript/unstable/sync').UnionType} type @param {string} place */
  unionOf(type, place) {
    const types = type.getTypes().filter(({ flags }) => !(flags & TypeFlags.Undefined));
    const objects = types.filter((one) => one.isObjectType() || one.isIntersectionType());
    const placeOf = (/** @type {Type} */ one) =>
      objects.length > 1 ? place + this.distinctionOf(one, objects) : place;
    return unionText(types.map((one) => this.typeOf(one, placeOf(one))));
  }

  /**
   * Returns the mark of an object in a union: the value of a key, or a key that only it has.
   *
   * @param {Type} type
   * @param {readonly Type[]} all
   */
  distinctionOf(type, all) {
    const { checker } = this;
    const own = checker.getPropertiesOfType(type);
    for (const property of own) {
      const value = checker.getTypeOfSymbol(property);
      if (value?.isStringLiteralType()) return classWord(value.value);
    }
    const others = all.filter((other) => other !== type);
    const alone = own.find(({ name }) =>
      others.every((other) => checker.getPropertyOfType(other, name) === undefined),
    );
    return alone === undefined ? String(all.indexOf(type) + 1) : `With${classWord(alone.name)}`;
  }

  /** Returns the class of an object, creating it if needed. @param {Type} type @param {string} place */
  classOf(type, place) {
    const known = this.names.get(type.id);
    if (known !== undefined) return known;
    const [alias, own] = [type.getAliasSymbol()?.name, type.getSymbol()?.name];
    const name =
      alias && type.getAliasTypeArguments().length === 0 ? alias : own && !own.startsWith('__') ? own : place;
    if (this.classes.has(name)) throw new Error(`two types are named ${name}`);
    this.names.set(type.id, name);
    this.classes.set(name, '');
    this.classes.set(name, this.textOf(type, name));
    return name;
  }

  /** @param {Type} type @param {string} name */
  textOf(type, name) {
    const { checker } = this;
    const fields = checker.getPropertiesOfType(type).map((property) => {
      const of = checker.getTypeOfSymbol(property);
      const isOptional =
        (property.flags & SymbolFlags.Optional) !== 0 ||
        (of?.isUnionType() && of.getTypes().some(({ flags }) => flags & TypeFlags.Undefined)) === true;
      const words = property.getDocumentationComment(checker).trim().replace(/\s+/g, ' ');
      const key = property.name;
      const whole = this.typeOf(of, name + classWord(key));
      const isFraction = fractions.has(key) || fractions.has(`${name}.${key}`);
      return { key, type: isFraction ? whole.replace(/\bint\b/g, 'float') : whole, isOptional, words };
    });
    const reserved = fields.find(({ key }) => /\W/.test(key));
    if (reserved !== undefined) throw new Error(`${name}: ${reserved.key} cannot be a field's name`);
    const attributes = fields.map(({ key, type, isOptional, words }) => {
      const isNullable = isOptional && !/ \| None$|^Any$/.test(type);
      const text = words && `    ${JSON.stringify(words).replace(/^"|"$/g, '"""')}\n`;
      return `    ${attributeOf(key)}: ${type}${isNullable ? ' | None' : ''}\n${text}`;
    });
    const optional = fields.filter((field) => field.isOptional);
    const items = [
      ...methodOf(
        '__getitem__',
        fields.map(({ key, type }) => `key: Literal["${key}"], /) -> ${type}`),
        'key: str, /) -> Any',
      ),
      ...methodOf(
        'get',
        optional.flatMap(({ key, type }) => [
          `key: Literal["${key}"], default: None = None, /) -> ${type} | None`,
          `key: Literal["${key}"], default: Other, /) -> ${type} | Other`,
        ]),
        'key: str, default: Any = None, /) -> Any',
      ),
    ];
    return [
      `class ${name}(Result):\n`,
      ...attributes,
      ...(optional.length === 0
        ? []
        : [`    _optional = frozenset(${JSON.stringify(optional.map(({ key }) => key))})\n`]),
      ...(items.length === 0 ? ['    pass\n'] : ['    if TYPE_CHECKING:\n', ...items]),
    ].join('');
  }
}

/** @param {(checker: Checker, printed: Type) => void} read */
const withPrinted = (read) => {
  const api = new API();
  try {
    const [project] = api.updateSnapshot({ openProject: `${root}tsconfig.json` }).getProjects();
    const file = project?.program.getSourceFile(`${root}src/cli/printed.ts`);
    if (project === undefined || file === undefined)
      throw new Error('src/cli/printed.ts is not in tsconfig.json');
    const { checker } = project;
    const module = checker.getSymbolAtLocation(file);
    const printed = module && checker.getExportsOfModule(module).find(({ name }) => name === 'Printed');
    if (printed === undefined) throw new Error('src/cli/printed.ts does not export Printed');
    read(checker, checker.getDeclaredTypeOfSymbol(printed));
  } finally {
    api.close();
  }
};

/**
 * Python types of each command's output, by option; `plain` without one.
 *
 * @type {Map<string, Map<string, string>>}
 */
export const results = new Map();

/** @type {readonly string[]} */
let classes = [];

withPrinted((checker, printed) => {
  const translation = new Translation(checker);
  for (const command of checker.getPropertiesOfType(printed)) {
    const type = checker.getTypeOfSymbol(command);
    if (type === undefined) throw new Error(`${command.name} has no type`);
    const forms = checker.getPropertiesOfType(type).map((form) => {
      const text = translation.typeOf(
        checker.getTypeOfSymbol(form),
        classWord(`${command.name}-${form.name}`),
      );
      return /** @type {const} */ ([form.name, text]);
    });
    results.set(command.name, new Map(forms));
  }
  classes = [...translation.classes.values()];
});
const names = classes.join('\n').match(/(?<=^class )[A-Z]\w*/gm) ?? [];

/** The text of results.py. */
export const resultsModule = `# Written by scripts/python-results.mjs from the types of src/cli/printed.ts.
# A result has fewer keys than a dictionary may have:
# mypy: disable-error-code=override
# pyright: reportIncompatibleMethodOverride=false
"""Types of what the functions return: dictionaries whose keys are attributes too, in snake case."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from ._result import Result

__all__ = [
${names
  .toSorted()
  .map((name) => `    "${name}",\n`)
  .join('')}]

Other = TypeVar("Other")

${classes.map((text) => `\n${text}`).join('\n')}`;
