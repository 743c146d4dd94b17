/**
 * Which weights of an [out, in] matrix form a row: those of an input feature (a column, along dimension 0),
 * or those of an output feature (along dimension 1). The paper's tables use input features
 * (docs/analysis.md).
 */
export type Rows = 'input' | 'output';
