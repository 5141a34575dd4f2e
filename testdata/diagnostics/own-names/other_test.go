package shop_test

// Delivery is of another package.
type Delivery int
