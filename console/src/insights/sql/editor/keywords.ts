/** The words of a query that are no names. source: the server's docs/sql.md */
export const KEYWORDS = [
  ...["SELECT", "DISTINCT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "ASC", "DESC"],
  ...["LIMIT", "OFFSET", "WITH", "AS", "UNION ALL", "UNION DISTINCT", "JOIN", "LEFT JOIN"],
  ...["INNER JOIN", "FULL JOIN", "CROSS JOIN", "ON", "USING", "AND", "OR", "NOT", "IN"],
  ...["IN COHORT", "BETWEEN", "LIKE", "ILIKE", "IS NULL", "IS NOT NULL", "CASE", "WHEN", "THEN"],
  ...["ELSE", "END", "CAST", "INTERVAL", "OVER", "PARTITION BY", "TRUE", "FALSE", "NULL"],
] as const;
