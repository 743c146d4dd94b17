import {
  builderId,
  buildTypes,
  type Dependency,
  provenanceType,
  type Statement,
  statementType,
} from './statement.js';

export interface StatedProgram {
  readonly name: string;
  readonly version?: string | undefined;
  readonly sha256?: string | undefined;
}

export interface StatedExport {
  readonly version: string;
  /** Format, type and, if quantised, the dtype before. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly programs: readonly StatedProgram[];
  readonly file: string;
  readonly sha256: string;
  readonly dependencies: readonly Dependency[];
}

/** Returns an export's statement. Contains no time, path or host. */
export const exportStatement = (exported: StatedExport): Statement => ({
  _type: statementType,
  subject: [{ name: exported.file, digest: { sha256: exported.sha256 } }],
  predicateType: provenanceType,
  predicate: {
    buildDefinition: {
      buildType: buildTypes.export,
      externalParameters: exported.parameters,
      resolvedDependencies: [...exported.dependencies],
    },
    runDetails: {
      builder: {
        id: builderId,
        version: { layerloom: exported.version },
        builderDependencies: exported.programs.map(({ name, version, sha256 }) => ({
          name,
          ...(sha256 === undefined ? {} : { digest: { sha256 } }),
          annotations: { version: version ?? 'not stated' },
        })),
      },
    },
  },
});
