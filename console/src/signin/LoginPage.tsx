import { useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useRouter } from "@tanstack/react-router";
import { useTitle } from "@/lib/hooks";
import { prefix } from "@/lib/prefix";
import { words as app } from "@/words/app";
import { words } from "@/words/signin";
import { SignInForm } from "./SignInForm";

const route = getRouteApi("/login");

export default function LoginPage() {
  useTitle(words.title);
  const { next } = route.useSearch();
  const queries = useQueryClient();
  const router = useRouter();
  const open = async () => {
    queries.clear();
    await router.invalidate();
    router.history.push(prefix + ownPath(next));
  };
  return (
    <main className="mx-auto flex min-h-dvh w-full max-w-sm flex-col justify-center gap-5 px-4 py-10">
      <h1 className="flex items-center gap-2 font-semibold text-2xl">
        <svg aria-hidden="true" viewBox="0 0 32 32" className="size-7 text-accent">
          <path fill="currentColor" d="M7 4h19l-6 7 6 7H10v10H7z" />
        </svg>
        {app.product}
      </h1>
      <SignInForm next={ownPath(next)} onDone={() => void open()} />
      <p className="text-ink-3 text-sm">{words.firstStart}</p>
    </main>
  );
}

/** An address of this console alone: a link from elsewhere must not lead the user away. */
export function ownPath(next: string | undefined): string {
  return next !== undefined && /^\/(?![/\\])/.test(next) ? next : "/";
}
