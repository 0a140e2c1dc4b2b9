import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useProjectId } from "@/app/session";
import { prefix } from "@/lib/prefix";
import { Code } from "@/ui/Copy";
import { TextField } from "@/ui/Field";
import { Card, LINK, Page } from "@/ui/Page";
import { SelectField } from "@/ui/Select";
import { words } from "@/words/imports";
import { commandsOf, DEFAULT_FILES, hasMapping, type Source } from "./commands";

const SOURCES = (Object.keys(words.sources) as Source[]).map((value) => ({
  value,
  label: words.sources[value],
}));

/** Says which command imports files into this project: files may be larger than a browser can send. */
export default function ImportPage() {
  const [source, setSource] = useState<Source>("csv");
  const [file, setFile] = useState("");
  const projectId = useProjectId();
  const host = `${location.origin}${prefix}`;
  const commands = commandsOf({
    source,
    file: file.trim() || DEFAULT_FILES[source],
    host,
    projectId,
  });
  return (
    <Page title={words.title} description={words.hint}>
      <div className="flex max-w-3xl flex-col gap-4">
        <p className="text-ink-2">{words.about}</p>
        <div className="grid gap-4 sm:grid-cols-2">
          <SelectField label={words.source} value={source} options={SOURCES} onChange={setSource} />
          <TextField
            label={words.file}
            hint={words.fileHint}
            placeholder={DEFAULT_FILES[source]}
            value={file}
            onChange={(event) => setFile(event.target.value)}
          />
        </div>
        <Card
          title={words.preview}
          description={hasMapping(source) ? words.previewMapHint : words.previewHint}
        >
          <Code text={commands.preview} what={words.copied.preview} />
        </Card>
        <Card title={words.run} description={words.runHint}>
          <div className="flex flex-col gap-2">
            <Code text={commands.run} what={words.copied.run} />
            <p className="text-ink-3 text-sm">
              {words.keyHint}{" "}
              <Link to="/account" search={{ tab: "keys" }} className={LINK}>
                {words.keyLink}
              </Link>
            </p>
          </div>
        </Card>
      </div>
    </Page>
  );
}
