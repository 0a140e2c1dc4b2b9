import { useQuery } from "@tanstack/react-query";
import { useProjectId } from "@/app/session";
import { Badge, type Tone } from "@/ui/Badge";
import { Dialog } from "@/ui/Dialog";
import { Empty, Loaded } from "@/ui/States";
import { LongText } from "@/ui/Text";
import { Time } from "@/ui/Time";
import { type Column, DataTable } from "@/ui/table";
import { words } from "@/words/settings";
import { type Delivery, deliveriesQuery, type Webhook } from "../queries";

const T = words.webhooks;
const TONES: Record<Delivery["status"], Tone> = {
  pending: "info",
  delivered: "good",
  failed: "bad",
};

const answerOf = (delivery: Delivery): string =>
  delivery.error ?? (delivery.response_code === null ? "" : String(delivery.response_code));

const COLUMNS: readonly Column<Delivery>[] = [
  {
    id: "event",
    header: T.event,
    grow: true,
    fixed: true,
    text: (delivery) => delivery.event,
    cell: (delivery) => <code>{delivery.event}</code>,
  },
  {
    id: "status",
    header: T.status,
    width: 110,
    text: (delivery) => T.statuses[delivery.status],
    cell: (delivery) => <Badge tone={TONES[delivery.status]}>{T.statuses[delivery.status]}</Badge>,
  },
  {
    id: "attempts",
    header: T.attempts,
    width: 90,
    align: "end",
    text: (delivery) => delivery.attempts,
    cell: (delivery) => delivery.attempts,
  },
  {
    id: "answer",
    header: T.answer,
    grow: true,
    wrap: true,
    text: answerOf,
    cell: (delivery) => <LongText text={answerOf(delivery)} />,
  },
  {
    id: "created",
    header: words.created,
    width: 130,
    text: (delivery) => new Date(delivery.created_at),
    cell: (delivery) => <Time at={delivery.created_at} />,
  },
  {
    id: "next",
    header: T.next,
    width: 130,
    text: (delivery) => delivery.next_attempt_at,
    cell: (delivery) =>
      delivery.next_attempt_at === null ? null : <Time at={delivery.next_attempt_at} />,
  },
];

/** The last deliveries of a webhook, read again every few seconds. */
export function Deliveries({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const deliveries = useQuery(deliveriesQuery(useProjectId(), webhook.id));
  return (
    <Dialog isOpen wide onClose={onClose} title={T.deliveriesOf(webhook.url)}>
      <Loaded query={deliveries}>
        {(page) => (
          <DataTable
            name="deliveries"
            label={T.deliveries}
            columns={COLUMNS}
            rows={page.results}
            rowId={(delivery) => delivery.id}
            total={page.count}
            empty={<Empty title={T.noDeliveries} />}
          />
        )}
      </Loaded>
    </Dialog>
  );
}
