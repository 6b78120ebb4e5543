/** An employee (contract §3.4). */
export type Employee = {
  readonly userId: string;
  readonly externalId: string | null;
  readonly userName: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly email: string;
  readonly division: string;
  readonly managerId: string | null;
  readonly hireDate: string | null;
  readonly active: boolean;
  readonly createdAt: number;
  readonly updatedAt: number;
};
