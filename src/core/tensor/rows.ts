/**
 * A row of a matrix stored as [out, in]: the weights of an input feature (a column, along dimension 0), or of
 * an output feature (along dimension 1). The paper's tables use input features (docs/analysis.md).
 */
export type Rows = 'input' | 'output';
