import { Check, type LucideIcon } from "lucide-react";
import { DropdownMenu } from "radix-ui";
import { type ReactNode, useRef, useState } from "react";
import { classes, FLOATING, MENU_ITEM } from "@/ui/classes";
import { overlayContainer } from "./classes";

interface MenuProps {
  /** One element that takes a ref: a Button or an IconButton. */
  trigger: ReactNode;
  align?: "start" | "end";
  children: ReactNode;
}

export function Menu({ trigger, align = "end", children }: MenuProps) {
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  return (
    <DropdownMenu.Root modal={false} open={isOpen} onOpenChange={setOpen}>
      <DropdownMenu.Trigger asChild ref={button}>
        {trigger}
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal container={overlayContainer(button.current)}>
        <DropdownMenu.Content
          align={align}
          sideOffset={4}
          collisionPadding={8}
          className={classes(FLOATING, "max-h-[70vh] min-w-44 max-w-80 overflow-y-auto p-1")}
        >
          {children}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

interface ItemProps {
  icon?: LucideIcon;
  onSelect: () => void;
  isDanger?: boolean;
  disabled?: boolean;
  children: ReactNode;
}

export function MenuItem({
  icon: Icon,
  onSelect,
  isDanger,
  disabled = false,
  children,
}: ItemProps) {
  return (
    <DropdownMenu.Item
      onSelect={onSelect}
      disabled={disabled}
      className={classes(MENU_ITEM, isDanger && !disabled && "text-bad")}
    >
      {Icon && <Icon aria-hidden className="size-4 shrink-0" />}
      {children}
    </DropdownMenu.Item>
  );
}

interface ChoiceProps<T extends string> {
  label: string;
  value: T;
  options: readonly { value: T; label: string }[];
  onChange: (value: T) => void;
}

/** One of several, within a menu. */
export function MenuChoice<T extends string>({ label, value, options, onChange }: ChoiceProps<T>) {
  return (
    <DropdownMenu.RadioGroup value={value}>
      <DropdownMenu.Label className="px-2.5 pt-1.5 pb-1 text-ink-3 text-sm">
        {label}
      </DropdownMenu.Label>
      {options.map((one) => (
        <DropdownMenu.RadioItem
          key={one.value}
          value={one.value}
          onSelect={() => onChange(one.value)}
          className={MENU_ITEM}
        >
          <span className="flex w-4 justify-center" aria-hidden>
            <DropdownMenu.ItemIndicator>
              <Check className="size-4" />
            </DropdownMenu.ItemIndicator>
          </span>
          {one.label}
        </DropdownMenu.RadioItem>
      ))}
    </DropdownMenu.RadioGroup>
  );
}

export const MenuLine = () => <DropdownMenu.Separator className="my-1 border-line border-t" />;
