/**
 * A library's Parquet writer. The build replaces the compiled module by its bundle
 * (`scripts/bundle-libraries.mjs`), so exported types must not name the library's.
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
