import type { ReactNode } from "react";
import { Button } from "@/ui/Button";
import { Code } from "@/ui/Copy";
import { Dialog } from "@/ui/Dialog";

interface SecretDialogProps {
  title: string;
  description: string;
  /** null: closed. It is held by the screen alone, and gone with it. */
  secret: string | null;
  /** Its name, for the button that copies it. */
  what: string;
  done: string;
  onClose: () => void;
  children?: ReactNode;
}

/** Shows once what the server does not show again. */
export function SecretDialog(props: SecretDialogProps) {
  const { title, description, secret, what, done, onClose, children } = props;
  return (
    <Dialog isOpen={secret !== null} onClose={onClose} title={title} description={description}>
      <div className="flex flex-col gap-4">
        <Code text={secret ?? ""} what={what} />
        {children}
        <div className="flex justify-end">
          <Button look="primary" onClick={onClose}>
            {done}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
