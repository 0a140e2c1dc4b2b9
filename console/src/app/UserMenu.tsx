import { useNavigate } from "@tanstack/react-router";
import { BookOpen, Braces, Building2, CircleUser, Keyboard, LogOut } from "lucide-react";
import { useMe } from "@/app/session";
import { useSignOut } from "@/app/useSignOut";
import { docsAddress, prefix } from "@/lib/prefix";
import { chooseTheme, THEMES, useTheme } from "@/lib/theme";
import { IconButton } from "@/ui/Button";
import { Menu, MenuChoice, MenuItem, MenuLine } from "@/ui/Menu";
import { words } from "@/words/app";

export function UserMenu({ onShortcuts }: { onShortcuts: () => void }) {
  const me = useMe();
  const navigate = useNavigate();
  const { chosen } = useTheme();
  const signOut = useSignOut();
  const docs = docsAddress;
  return (
    <Menu trigger={<IconButton icon={CircleUser} label={words.account} />}>
      <div className="px-2.5 py-1.5">
        <p className="font-medium">{me.first_name}</p>
        <p className="text-ink-3 text-sm">{me.email}</p>
      </div>
      <MenuLine />
      <MenuItem icon={CircleUser} onSelect={() => void navigate({ to: "/account" })}>
        {words.yourAccount}
      </MenuItem>
      <MenuItem icon={Building2} onSelect={() => void navigate({ to: "/organization" })}>
        {words.organizationSettings}
      </MenuItem>
      <MenuItem icon={Keyboard} onSelect={onShortcuts}>
        {words.shortcuts}
      </MenuItem>
      {docs !== null && (
        <MenuItem icon={BookOpen} onSelect={() => location.assign(docs)}>
          {words.docs}
        </MenuItem>
      )}
      <MenuItem icon={Braces} onSelect={() => location.assign(`${prefix}/api/docs/`)}>
        {words.apiDocs}
      </MenuItem>
      <MenuLine />
      <MenuChoice
        label={words.theme}
        value={chosen}
        options={THEMES.map((value) => ({ value, label: words.themes[value] }))}
        onChange={chooseTheme}
      />
      <MenuLine />
      <MenuItem icon={LogOut} onSelect={() => void signOut()}>
        {words.signOut}
      </MenuItem>
    </Menu>
  );
}
