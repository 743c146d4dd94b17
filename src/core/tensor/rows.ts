/**
 * Weights of an [out, in] matrix that form a row: an input feature's weights (a column, along dimension 0), or an
 * output feature's weights (along dimension 1). The paper's tables use input features (docs/analysis.md).
 */
export type Rows = 'input' | 'output';
