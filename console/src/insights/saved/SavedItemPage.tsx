import { Link } from "@tanstack/react-router";
import type { ComponentProps, ReactNode } from "react";
import { useProjectId } from "@/app/session";
import { ApiError } from "@/lib/errors";
import { LINK, Page } from "@/ui/Page";
import { Visible } from "@/ui/properties";
import { Loaded } from "@/ui/States";

interface Props<Item> {
  item: ComponentProps<typeof Loaded<Item>>["query"];
  /** The name of the item, or what is loading. */
  name: string;
  /** The list that it is in, which also shows deleted ones. */
  list: "/project/$projectId/insights" | "/project/$projectId/dashboards";
  words: { title: string; notFound: string; toDeleted: string };
  actions?: ReactNode;
  children: (item: Item) => ReactNode;
}

/** The page of a saved insight or of a dashboard. A missing one leads to the deleted ones. */
export function SavedItemPage<Item extends { description: string | null }>(props: Props<Item>) {
  const { item, name, list, words, actions, children } = props;
  const params = { projectId: useProjectId() };
  const isMissing = item.error instanceof ApiError && item.error.status === 404;
  return (
    <Page
      title={name}
      heading={<Visible text={name} />}
      description={item.data?.description && <Visible text={item.data.description} />}
      back={
        <Link to={list} params={params} className={LINK}>
          {words.title}
        </Link>
      }
      actions={actions}
    >
      {isMissing ? (
        <div className="flex flex-col items-start gap-2">
          <p>{words.notFound}</p>
          <Link to={list} params={params} search={{ deleted: true }} className={LINK}>
            {words.toDeleted}
          </Link>
        </div>
      ) : (
        <Loaded query={item} rows={8}>
          {children}
        </Loaded>
      )}
    </Page>
  );
}
