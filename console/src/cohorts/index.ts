// The exports for other features.
export {};
