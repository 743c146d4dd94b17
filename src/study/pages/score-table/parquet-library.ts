/**
 * The function of a library that writes Parquet. The build replaces the compiled module by its bundle
 * (`scripts/bundle-libraries.mjs`); the types here name none of the library's.
 */
import { parquetWriteBuffer } from 'hyparquet-writer';

/** A column of a file; null where a row has no value. */
export interface ParquetColumn {
  readonly name: string;
  readonly type: 'STRING' | 'DOUBLE' | 'INT32' | 'BOOLEAN';
  readonly data: readonly (string | number | boolean | null)[];
}

/** Returns the bytes of a Parquet file, compressed by Snappy. */
export const writeParquet = (columns: readonly ParquetColumn[], createdBy: string): Uint8Array =>
  new Uint8Array(
    parquetWriteBuffer({
      columnData: columns.map((column) => ({ ...column, data: [...column.data] })),
      createdBy,
    }),
  );
