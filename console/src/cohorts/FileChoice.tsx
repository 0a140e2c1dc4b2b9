import { Button } from "@/ui/Button";
import { FileDrop } from "@/ui/FileDrop";
import { ErrorNote } from "@/ui/States";
import { words } from "@/words/cohorts";
import { type CsvFile, readCsvFile } from "./csvFile";

const WORDS = words.upload;

interface Props {
  chosen: CsvFile | null;
  onChoose: (file: CsvFile | null) => void;
  disabled?: boolean;
}

/** A file of persons, dropped or chosen, and what will be read of it. */
export function FileChoice({ chosen, onChoose, disabled = false }: Props) {
  if (chosen !== null) return <Chosen chosen={chosen} onOther={() => onChoose(null)} />;
  return (
    <FileDrop
      label={`${WORDS.drop} ${WORDS.choose}`}
      hint={WORDS.hint}
      accept=".csv,text/csv,text/plain"
      disabled={disabled}
      onChoose={(file) => void readCsvFile(file).then(onChoose)}
    />
  );
}

function Chosen({ chosen, onOther }: { chosen: CsvFile; onOther: () => void }) {
  const { column, header, hasHeader, rows, isCut } = chosen;
  const isEmpty = rows === 0;
  return (
    <div className="flex min-w-0 flex-col gap-2 rounded-lg border border-line bg-panel p-3">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <bdi className="font-medium">{chosen.file.name}</bdi>
        <Button small onClick={onOther}>
          {WORDS.other}
        </Button>
      </div>
      {column === null && !isEmpty && <ErrorNote error={WORDS.unknown(header.join(", "))} />}
      {isEmpty && <ErrorNote error={WORDS.emptyFile} />}
      {column !== null && !isEmpty && (
        <p>
          {hasHeader ? WORDS.recognised(column.name, WORDS.columns[column.holds]) : WORDS.headless}
        </p>
      )}
      {!isEmpty && (
        <>
          <p className="text-ink-2">{isCut ? WORDS.rowsAtLeast(rows) : WORDS.rows(rows)}</p>
          <FirstRows chosen={chosen} />
        </>
      )}
    </div>
  );
}

function FirstRows({ chosen }: { chosen: CsvFile }) {
  const cell = "border-line border-b px-2 py-1 text-left";
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so that keys must reach it
    <section tabIndex={0} aria-label={WORDS.first} className="overflow-x-auto">
      <table className="text-sm">
        {chosen.hasHeader && (
          <thead>
            <tr>
              {chosen.header.map((name, at) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: columns have no other name than their place
                <th key={at} scope="col" className={cell}>
                  <bdi>{name}</bdi>
                </th>
              ))}
            </tr>
          </thead>
        )}
        <tbody>
          {chosen.first.map((row, line) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other name than their place
            <tr key={line}>
              {row.map((value, at) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: cells have no other name than their place
                <td key={at} className={cell}>
                  <bdi>{value}</bdi>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
