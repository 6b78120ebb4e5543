/** An event type, and the rules for its events. */
export type EventType = {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly encryptionRequired: boolean;
  readonly builtIn: boolean;
  /** A JSON Schema that the data of such an event must satisfy. */
  readonly dataSchema: Readonly<Record<string, unknown>> | null;
  readonly createdAt: number;
  readonly updatedAt: number;
};
