import { groupBy, itemAt } from '../base/errors/lookup.js';
import { hubAddressOf } from './purl.js';
import { builderId, type Dependency, type Statement, tensorsSubject } from './statement.js';

// CycloneDX 1.7 in JSON, without CycloneDX's library, which lacks `pedigree` and `modelCard`. A test validates the text
// by its schema.

interface Property {
  readonly name: string;
  readonly value: string;
}

interface Component {
  readonly 'bom-ref'?: string;
  readonly type: 'machine-learning-model' | 'file' | 'application';
  readonly name: string;
  readonly version?: string;
  readonly hashes?: readonly { readonly alg: 'SHA-256'; readonly content: string }[];
  readonly purl?: string;
  readonly components?: readonly Component[];
  readonly pedigree?: { readonly ancestors: readonly Component[] };
  readonly modelCard?: { readonly modelParameters: { readonly modelArchitecture: string } };
  readonly properties?: readonly Property[];
}

const property = (name: string, value: string): Property => ({ name: `layerloom:${name}`, value });

/**
 * Returns a merge's bill of materials: files as components, inputs as ancestors. Contains no time, serial
 * number, path or host, so equal merges give equal texts.
 */
export const billOfMaterials = (
  { subject, predicate: { buildDefinition, runDetails } }: Statement,
  name: string,
  architecture: string | undefined,
): string => {
  const { externalParameters, resolvedDependencies } = buildDefinition;
  const tensors = subject.find((one) => one.name === tensorsSubject)?.digest.sha256;
  const { layerloom: version = '' } = runDetails.builder.version;
  const component: Component = {
    ...{ 'bom-ref': 'model', type: 'machine-learning-model', name },
    components: subject
      .filter((one) => one.name !== tensorsSubject)
      .map((one) => fileOf(one.name, one.digest.sha256)),
    pedigree: {
      ancestors: [
        ...groupBy(
          resolvedDependencies,
          ({ uri = '', annotations: { model } }) => `${model} ${uri}`,
        ).values(),
      ].map(ancestorOf),
    },
    ...(architecture === undefined
      ? {}
      : { modelCard: { modelParameters: { modelArchitecture: architecture } } }),
    properties: [
      property('recipe', JSON.stringify(externalParameters['recipe'])),
      ...(tensors === undefined ? [] : [property('tensors', tensors)]),
    ],
  };
  const tool: Component = {
    ...{ type: 'application', name: 'layerloom', version, purl: `${builderId}@${version}` },
  };
  const bom = {
    $schema: 'http://cyclonedx.org/schema/bom-1.7.schema.json',
    ...{ bomFormat: 'CycloneDX', specVersion: '1.7', version: 1 },
    metadata: { tools: { components: [tool] }, component },
  };
  return `${JSON.stringify(bom, null, 2)}\n`;
};

const fileOf = (name: string, sha256: string | undefined): Component => ({
  ...{ type: 'file', name },
  ...(sha256 === undefined ? {} : { hashes: [{ alg: 'SHA-256', content: sha256 }] }),
});

const ancestorOf = (files: readonly Dependency[]): Component => {
  const { uri, annotations } = itemAt(files, 0);
  const { model, base, adapter } = annotations;
  const version = uri === undefined ? undefined : hubAddressOf(uri)?.split('@')[1];
  const roles = [...new Set(files.map((file) => file.annotations.role))];
  return {
    ...{ type: 'machine-learning-model', name: model },
    ...(version === undefined ? {} : { version }),
    ...(uri === undefined ? {} : { purl: uri }),
    components: [...groupBy(files, ({ name }) => name).values()].map((same) => {
      const { name, digest } = itemAt(same, 0);
      return fileOf(name.slice(model.length + 1), digest.sha256);
    }),
    properties: [
      ...roles.map((role) => property('role', role)),
      ...(base === undefined ? [] : [property('base', base)]),
      ...(adapter === undefined ? [] : [property('adapter', adapter)]),
    ],
  };
};
