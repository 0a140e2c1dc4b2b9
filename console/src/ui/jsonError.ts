import { words } from "@/words/inputs";

export interface JsonError {
  line: number;
  column: number;
  message: string;
}

const DEPTH_MAX = 200;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const LITERAL = /true|false|null/y;
const SPACE = /[ \t\r\n]*/y;

/** Return where text stops being JSON and why, or null if it is JSON. Browsers differ in this. */
export function jsonError(text: string): JsonError | null {
  const scanner = new Scanner(text);
  try {
    scanner.document();
    return null;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const before = text.slice(0, error.at);
    const line = before.split("\n").length;
    return { line, column: error.at - before.lastIndexOf("\n"), message: error.message };
  }
}

class Problem extends Error {
  constructor(
    readonly at: number,
    message: string,
  ) {
    super(message);
  }
}

class Scanner {
  private at = 0;
  private depth = 0;

  constructor(private readonly text: string) {}

  document(): void {
    this.value();
    this.skipSpace();
    if (this.at < this.text.length) this.fail(words.json.rest);
  }

  private value(): void {
    this.skipSpace();
    const first = this.text[this.at];
    if (first === "{") this.nested(() => this.object());
    else if (first === "[") this.nested(() => this.array());
    else if (first === '"') this.string();
    else if (!this.take(LITERAL) && !this.take(NUMBER)) {
      this.fail(/[-\d]/.test(first ?? "") ? words.json.number : words.json.value);
    }
  }

  private nested(read: () => void): void {
    this.depth += 1;
    if (this.depth > DEPTH_MAX) this.fail(words.json.deep);
    this.at += 1;
    read();
    this.depth -= 1;
  }

  private object(): void {
    this.skipSpace();
    if (this.takeSign("}")) return;
    while (true) {
      this.skipSpace();
      if (this.text[this.at] !== '"')
        this.fail(this.isAfterComma("}") ? words.json.trailingComma : words.json.key);
      this.string();
      this.skipSpace();
      if (!this.takeSign(":")) this.fail(words.json.colon);
      this.value();
      this.skipSpace();
      if (this.takeSign("}")) return;
      if (!this.takeSign(",")) this.fail(words.json.commaOrBrace);
    }
  }

  private array(): void {
    this.skipSpace();
    if (this.takeSign("]")) return;
    while (true) {
      this.skipSpace();
      if (this.isAfterComma("]")) this.fail(words.json.trailingComma);
      this.value();
      this.skipSpace();
      if (this.takeSign("]")) return;
      if (!this.takeSign(",")) this.fail(words.json.commaOrBracket);
    }
  }

  /** The members' loop comes here at a closing sign only after a comma. */
  private isAfterComma(close: string): boolean {
    return this.text[this.at] === close;
  }

  private string(): void {
    this.at += 1;
    while (true) {
      const sign = this.text[this.at];
      if (sign === undefined) this.fail(words.json.end);
      else if (sign < " ") this.fail(words.json.control);
      else if (sign === '"') {
        this.at += 1;
        return;
      } else if (sign !== "\\") this.at += 1;
      else if (!this.take(/\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})/y)) this.fail(words.json.escape);
    }
  }

  private skipSpace(): void {
    this.take(SPACE);
  }

  private takeSign(sign: string): boolean {
    if (this.text[this.at] !== sign) return false;
    this.at += 1;
    return true;
  }

  private take(pattern: RegExp): boolean {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found === null) return false;
    this.at += found[0].length;
    return true;
  }

  private fail(message: string): never {
    throw new Problem(this.at, this.at >= this.text.length ? words.json.end : message);
  }
}
