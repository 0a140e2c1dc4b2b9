import { prefix } from "@/lib/prefix";

interface ProviderLinkProps {
  next: string;
  label: string;
  /** Whether the provider must ask a signed-in user again. */
  reauthenticates?: boolean;
}

/** Leads to the sign-in of the organization's OpenID Connect provider, and back. */
export function ProviderLink({ next, label, reauthenticates = false }: ProviderLinkProps) {
  const query = new URLSearchParams({ next: prefix + next });
  if (reauthenticates) query.set("reauthenticate", "true");
  return (
    <a
      href={`${prefix}/api/login/oidc/?${query}`}
      className="inline-flex items-center justify-center rounded-md border border-line-strong bg-panel px-3 py-1.5 font-medium hover:bg-sunken"
    >
      {label}
    </a>
  );
}
