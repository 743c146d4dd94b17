import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Application } from 'typedoc';
import { root } from '../pages.mjs';

/**
 * Writes the API's pages from the docstrings of src/index.ts.
 *
 * @returns its sidebar: functions and classes. Every page holds the sidebar whole, so that the many types are on the first page alone.
 */
export const apiPages = async (out) => {
  const app = await Application.bootstrapWithPlugins({
    entryPoints: [join(root, 'src/index.ts')],
    tsconfig: join(root, 'tsconfig.json'),
    // The build has checked the types.
    skipErrorChecking: true,
    plugin: ['typedoc-plugin-markdown', 'typedoc-vitepress-theme'],
    readme: 'none',
    name: 'API',
    out,
    docsRoot: dirname(out),
    entryFileName: 'index',
    validation: { notDocumented: true, invalidLink: true, notExported: false },
    // Fields may be told by their names; whatever has a page of its own may not.
    requiredToBeDocumented: ['Class', 'Function', 'Interface', 'TypeAlias', 'Variable'],
    excludeExternals: true,
    excludePrivate: true,
    disableSources: true,
    groupOrder: ['Functions', 'Classes', 'Variables', 'Interfaces', 'Type Aliases'],
    kindSortOrder: ['Function', 'Class', 'Variable', 'Interface', 'TypeAlias'],
    hideBreadcrumbs: true,
    hidePageHeader: true,
    useCodeBlocks: true,
    parametersFormat: 'table',
    interfacePropertiesFormat: 'table',
    typeDeclarationFormat: 'table',
    propertyMembersFormat: 'table',
  });
  const project = await app.convert();
  if (project === undefined || app.logger.hasErrors()) throw new Error('typedoc: see its messages above');
  app.logger.resetWarnings();
  app.validate(project);
  if (app.logger.hasWarnings()) throw new Error('typedoc: an export has no docstring, see above');
  await app.generateOutputs(project);
  if (app.logger.hasErrors()) throw new Error('typedoc: see its messages above');
  const kinds = JSON.parse(readFileSync(join(out, 'typedoc-sidebar.json'), 'utf8'));
  const onSite = ({ text, link }) => ({ text, link: `/reference${link.replace(/\.md$/, '')}` });
  const groups = kinds.filter(({ text }) => ['Functions', 'Classes'].includes(text));
  return [
    { text: 'All names', link: '/reference/api/' },
    ...groups.map(({ text, items }) => ({ text, items: items.map(onSite) })),
  ];
};
