/**
 * Parquet writer of a library. The build replaces the compiled module by a bundle
 * (`scripts/bundle-libraries.mjs`), so exported types must not name the library's types.
 */
import { parquetWriteBuffer } from 'hyparquet-writer';

export interface ParquetColumn {
  readonly name: string;
  readonly type: 'STRING' | 'DOUBLE' | 'INT32' | 'BOOLEAN';
  readonly data: readonly (string | number | boolean | null)[];
}

export const writeParquet = (columns: readonly ParquetColumn[], createdBy: string): Uint8Array =>
  new Uint8Array(
    parquetWriteBuffer({
      columnData: columns.map((column) => ({ ...column, data: [...column.data] })),
      createdBy,
    }),
  );
