/** The page of the look of the customers' portal: the same name wherever a link leads there. */

export const LOOK_PATH = '/settings/customers-portal';

/** For visitors from the list of customers, which the page leads back to. */
export const LOOK_FROM_CUSTOMERS: string = `${LOOK_PATH}?from=customers`;

export const LOOK_TITLE = 'Look of the customers’ portal';
