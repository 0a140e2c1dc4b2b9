import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useProjectId } from "@/app/session";
import { dashboardsQuery } from "@/lib/dashboardList";
import { errorOf } from "@/lib/errors";
import { Button } from "@/ui/Button";
import { DateTimeInput } from "@/ui/DateTimeInput";
import { FormDialog } from "@/ui/Dialog";
import { TextField } from "@/ui/Field";
import { SelectField } from "@/ui/Select";
import { toast } from "@/ui/Toast";
import { words } from "@/words/annotations";
import type { AnnotatedPlace } from "./place";
import {
  type Annotation,
  type AnnotationChanges,
  useAnnotationChange,
  useAnnotationCreation,
} from "./queries";

type Scope = Annotation["scope"];
const FIELDS = ["content", "date_marker", "scope", "dashboard_id"];

interface FormProps {
  title: string;
  fields: Fields;
  /** Whether there is an insight on which the annotation can be shown. */
  hasInsight: boolean;
  zone: string;
  isBusy: boolean;
  error: unknown;
  onSave: (fields: Saved) => void;
  onDelete?: () => void;
  onClose: () => void;
}

interface Fields {
  content: string;
  date_marker: string | null;
  scope: Scope;
  dashboard_id: number | null;
}

type Saved = Fields & { date_marker: string };

function AnnotationForm(props: FormProps) {
  const { error, onDelete } = props;
  const [fields, setFields] = useState(props.fields);
  const [isSent, setSent] = useState(false);
  const change = (changes: Partial<Fields>) => setFields({ ...fields, ...changes });
  const { content, date_marker, scope, dashboard_id } = fields;
  const dashboards = useQuery(dashboardsQuery(useProjectId())).data ?? [];
  const ofField = FIELDS.some((name) => errorOf(error, name) !== undefined);
  const missing = isSent && date_marker === null ? words.momentMissing : undefined;
  const canBeOnDashboard = dashboards.length > 0 || scope === "dashboard";
  return (
    <FormDialog
      isOpen
      onClose={props.onClose}
      title={props.title}
      submit={words.save}
      canSubmit={content.trim() !== ""}
      isBusy={props.isBusy}
      error={ofField ? undefined : error}
      onSubmit={() => {
        setSent(true);
        if (date_marker !== null) props.onSave({ ...fields, content: content.trim(), date_marker });
      }}
    >
      <TextField
        label={words.content}
        hint={words.contentHint}
        required
        value={content}
        onChange={(event) => change({ content: event.target.value })}
        error={errorOf(error, "content")}
      />
      <DateTimeInput
        label={words.moment}
        zone={props.zone}
        value={date_marker}
        onChange={(moment) => change({ date_marker: moment })}
        error={errorOf(error, "date_marker") ?? missing}
      />
      <SelectField
        label={words.scope}
        value={scope}
        options={scopesOf(props.hasInsight, canBeOnDashboard).map((value) => ({
          value,
          label: words.scopes[value],
        }))}
        onChange={(chosen) =>
          change({
            scope: chosen,
            ...(chosen === "dashboard" && {
              dashboard_id: dashboard_id ?? dashboards[0]?.id ?? null,
            }),
          })
        }
      />
      {scope === "dashboard" && (
        <SelectField
          label={words.dashboard}
          value={String(dashboard_id)}
          options={dashboards.map(({ id, name }) => ({
            value: String(id),
            label: name || words.untitled,
          }))}
          onChange={(chosen) => change({ dashboard_id: Number(chosen) })}
          error={errorOf(error, "dashboard_id")}
        />
      )}
      {onDelete && (
        <div>
          <Button look="danger" onClick={onDelete}>
            {words.remove}
          </Button>
        </div>
      )}
    </FormDialog>
  );
}

type Owner = Omit<AnnotatedPlace, "projectId">;

interface NewProps {
  place: Owner;
  /** The moment that it is first about. */
  at: Date;
  zone: string;
  onClose: () => void;
}

export function NewAnnotationDialog({ place, at, zone, onClose }: NewProps) {
  const create = useAnnotationCreation();
  const { insightId, dashboardId = null } = place;
  return (
    <AnnotationForm
      title={words.addTitle}
      fields={{
        content: "",
        date_marker: at.toISOString(),
        scope: "project",
        dashboard_id: dashboardId,
      }}
      hasInsight={insightId !== undefined}
      zone={zone}
      isBusy={create.isPending}
      error={create.error}
      onSave={(fields) =>
        create.mutate(
          {
            ...fields,
            ...(fields.scope === "dashboard_item" && { dashboard_item: insightId ?? null }),
          },
          {
            onSuccess: () => {
              toast({ text: words.added });
              onClose();
            },
          },
        )
      }
      onClose={onClose}
    />
  );
}

interface EditProps {
  annotation: Annotation;
  zone: string;
  onClose: () => void;
}

export function EditAnnotationDialog({ annotation, zone, onClose }: EditProps) {
  const change = useAnnotationChange(annotation.id);
  const { content, date_marker, scope, dashboard_id } = annotation;
  const write = (changes: AnnotationChanges, done: () => void) =>
    change.mutate(changes, {
      onSuccess: () => {
        done();
        onClose();
      },
    });
  const remove = () =>
    write({ deleted: true }, () =>
      toast({
        text: words.wasDeleted,
        undo: () => change.mutateAsync({ deleted: false }),
      }),
    );
  return (
    <AnnotationForm
      title={words.editTitle}
      fields={{ content, date_marker, scope, dashboard_id }}
      hasInsight={annotation.dashboard_item !== null}
      zone={zone}
      isBusy={change.isPending}
      error={change.error}
      onSave={(fields) => write(fields, () => toast({ text: words.saved }))}
      onDelete={remove}
      onClose={onClose}
    />
  );
}

const scopesOf = (hasInsight: boolean, hasDashboards: boolean): Scope[] => [
  ...(hasInsight ? (["dashboard_item"] as const) : []),
  ...(hasDashboards ? (["dashboard"] as const) : []),
  "project",
  "organization",
];
