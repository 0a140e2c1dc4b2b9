import { Popover } from "radix-ui";
import { type ReactNode, useRef } from "react";
import { classes, FLOATING } from "@/ui/classes";
import { words } from "@/words/inputs";
import { OptionList, type OptionListState } from "./OptionList";

interface Props {
  /** The id of the list, which the field names. */
  id: string;
  label: string;
  isOpen: boolean;
  onOpenChange: (isOpen: boolean) => void;
  list: OptionListState;
  mono?: boolean;
  /** The field, one element that takes a ref: it keeps the focus while the list is open. */
  children: ReactNode;
}

/** A field with the list of its options below it. */
export function OptionPopover(props: Props) {
  const field = useRef<HTMLDivElement>(null);
  return (
    <Popover.Root open={props.isOpen} onOpenChange={props.onOpenChange}>
      <Popover.Anchor asChild ref={field}>
        {props.children}
      </Popover.Anchor>
      <Popover.Portal>
        <Popover.Content
          role="region"
          aria-label={words.optionsOf(props.label)}
          align="start"
          sideOffset={4}
          collisionPadding={8}
          onOpenAutoFocus={(event) => event.preventDefault()}
          onCloseAutoFocus={(event) => event.preventDefault()}
          onInteractOutside={(event) => {
            if (event.target instanceof Node && field.current?.contains(event.target))
              event.preventDefault();
          }}
          // The focus stays in the field when the list is scrolled by its bar.
          onMouseDown={(event) => event.preventDefault()}
          // A dialog below holds scrolling back on all that is not inside of it.
          onWheel={(event) => event.stopPropagation()}
          onTouchMove={(event) => event.stopPropagation()}
          className={classes(
            FLOATING,
            "min-w-(--radix-popover-trigger-width) max-w-[min(32rem,92vw)] overflow-hidden",
          )}
        >
          <OptionList
            id={props.id}
            label={props.label}
            list={props.list}
            mono={props.mono ?? false}
          />
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}
